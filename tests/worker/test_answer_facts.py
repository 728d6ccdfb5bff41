"""Facts about one call: its cost, copies, reads of values, devices, dtypes and unused state.

The tests run small functions in this process. Tensors without values take no memory.
"""

import gc
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attn_drill.worker.answer_facts import FactsRecorder, realistic_facts, unused_state
from attn_drill.worker.protocol import Facts
from tests.support.paths import ROOT

PATH = "answer.py"
MIB = 1 << 20


def shaped(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return a tensor without values."""
    return torch.empty(shape, dtype=dtype, device="meta")


def names_of(source: str) -> dict[str, Any]:
    """Return the names that a file defines. Its lines are counted from 1."""
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": nn.functional}
    exec(compile(source, PATH, "exec"), names)
    return names


def facts_of(body: str, *inputs: Tensor, truth: bool = True) -> Facts:
    """Return the facts about a call of `f(x, y)` with this body. The body starts in line 2."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    names = names_of(f"def f(x, y=None):\n{lines}")
    recorder = FactsRecorder(PATH, truth=truth)
    with torch.no_grad(), recorder:
        names["f"](*inputs)
    return recorder.facts()


def test_operations_are_counted_without_views() -> None:
    """A transposition and a reshape of memory in order cost nothing."""
    facts = facts_of(
        "y = x.transpose(0, 1).view(4, 2, 2)\nreturn (y @ y).softmax(-1)", shaped(4, 4)
    )
    assert facts.operations == 2
    assert facts.multiply_adds == 4 * 2 * 2 * 2


def test_operation_in_place_counts_and_takes_no_memory() -> None:
    """The result is the memory of the input."""
    facts = facts_of("return x.mul_(2).add_(1)", shaped(1024, 1024))
    assert (facts.operations, facts.peak_bytes) == (2, 0)


@pytest.mark.parametrize(
    ("body", "mib"),
    [
        ("y = x * 2\nreturn y * 2", 8),
        ("return (x * 2) * 2", 8),
        ("for i in range(8):\n    y = x * 2\nreturn y", 8),
        ("x = x * 2\nx = x * 2\nx = x * 2\nreturn x", 8),
        ("return [x * 2 for i in range(8)]", 32),
        ("y = x.expand(8, 1024, 1024)\nreturn y.mT", 0),
        # Memory from a factory is freed like any other memory.
        ("for i in range(8):\n    y = torch.zeros_like(x)\nreturn y", 8),
        ("for i in range(8):\n    y = torch.zeros(1024, 1024, device=x.device)\nreturn y", 8),
        ("torch.zeros(1024, 1024, device=x.device)\nreturn x + 1", 4),
    ],
)
def test_peak_is_the_memory_in_use_at_once(body: str, mib: int) -> None:
    """Freed tensors do not count, also if a factory made them."""
    assert facts_of(body, shaped(1024, 1024)).peak_bytes == mib * MIB


def test_memory_at_the_peak_has_its_lines_the_largest_first() -> None:
    """Memory that was freed before the peak, or made after the peak, has no line."""
    facts = facts_of(
        "a = x.repeat(9, 1)\ndel a\nb = x * 2\nc = x.repeat(12, 1)\ndel b, c\nreturn x + 1",
        shaped(1024, 1024),
    )
    assert [(held.line, held.size) for held in facts.held] == [(5, 48 * MIB), (4, 4 * MIB)]
    assert facts.peak_bytes == 52 * MIB


def test_many_tensors_in_use_make_few_facts() -> None:
    """A reply has a limited size."""
    facts = facts_of(
        "\n".join(["kept = []", *(["kept.append(x.repeat(2, 1))"] * 60), "return kept"]),
        shaped(1024, 1024),
    )
    assert len(facts.held) == len(facts.copies) == 20


COPIES = {
    "repeat_interleave": ("x.repeat_interleave(4, dim=1)", (16, 64)),
    "repeat": ("x.repeat(1, 4, 1, 1)", (16, 64)),
    "tile": ("x.tile(1, 4, 1, 1)", (16, 64)),
    "index": ("x[:, torch.arange(8) // 4 + 0 * torch.arange(8)]", (16, 64)),
    "index_select": (
        "x.index_select(1, torch.zeros(8, dtype=torch.long, device='meta'))",
        (16, 64),
    ),
    "expand and reshape": (
        "x[:, :, None].expand(1, 2, 4, 1024, 2048).reshape(1, 8, 1024, 2048)",
        (16, 64),
    ),
    "expand and contiguous": ("x.expand(4, 2, 1024, 2048).contiguous()", (16, 64)),
    "expand and matmul": ("x[:, :, None].expand(1, 2, 4, 1024, 2048) @ y", (16, 64)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copy_of_repeated_entries_is_found(name: str) -> None:
    """The bytes before and after are those of the entries, and of the copy."""
    code, (before, after) = COPIES[name]
    facts = facts_of(f"return {code}", shaped(1, 2, 1024, 2048), shaped(2048, 8))
    found = [(copy.line, copy.before // MIB, copy.after // MIB) for copy in facts.copies]
    assert found == [(2, before, after)]


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("x.expand(4, 2, 1024, 2048)", torch.float32),
        ("x.clone()", torch.float32),
        ("x.mT.contiguous()", torch.float32),
        ("x[:, :1].repeat(1, 1, 1, 1)", torch.float32),
        ("torch.einsum('bgjd,bgrd->bgrj', x, x)", torch.float32),
        # A conversion repeats nothing, although its result has more bytes.
        ("x.float()", torch.bool),
        ("x.float()", torch.bfloat16),
        ("x.to(torch.float64)", torch.float32),
        # Copies of less than 1 MiB do not matter.
        ("x[:, :, :8, :8].repeat(1, 4, 1, 1)", torch.float32),
    ],
)
def test_other_copies_are_no_repetition(code: str, dtype: torch.dtype) -> None:
    """A copy counts only if it has at least twice as many entries."""
    assert facts_of(f"return {code}", shaped(1, 2, 1024, 2048, dtype=dtype)).copies == []


READS = [
    "return x.max().item()",
    "return int(x.max())",
    "return float(x.sum())",
    "if x.any():\n    x = x + 1",
    "assert x.all()",
    "for i in range(x.long().max()):\n    x = x + 1",
    "return torch.equal(x, x)",
    "return torch.allclose(x, x)",
]
SHAPES = [
    "return x[x > 0]",
    "return x.nonzero()",
    "return torch.where(x > 0)",
    "return torch.masked_select(x, x > 0)",
    "return torch.unique(x)",
    "return torch.repeat_interleave(x, x[0].long(), dim=1)",
]
NO_READS = [
    "if y is None:\n    x = x + 1",
    "if x.dim() == 2 and x.shape[0] > 1 and x.dtype is torch.float32:\n    x = x + 1",
    "return torch.where(x > 0, x, 0.0)",
    "return x.masked_fill(x > 0, 0.0)",
    "x = x.clone()\nx[x > 0] = 0.0\nreturn x",
    "return x[torch.zeros(2, dtype=torch.long)]",
    "return x.repeat_interleave(2, dim=0)",
    "return len(x), [row + 1 for row in x]",
]


@pytest.mark.parametrize("body", [*READS, *SHAPES])
def test_read_of_a_value_has_its_line(body: str) -> None:
    """A branch on a value, and a shape that depends on values, need the values."""
    assert facts_of(body, torch.ones(4, 4)).reads == [2]


@pytest.mark.parametrize("body", READS)
def test_read_of_a_value_that_does_not_exist_is_found(body: str) -> None:
    """The call goes on: the value is true."""
    assert facts_of(body, shaped(4, 4)).reads == [2]


@pytest.mark.parametrize("body", NO_READS)
def test_shapes_dtypes_and_none_are_no_values(body: str) -> None:
    """Such lines do not break the graph of torch.compile. A masked write has a fixed shape."""
    assert facts_of(body, torch.ones(4, 4)).reads == []


def test_value_that_does_not_exist_can_be_false() -> None:
    """A loop that ends at a false value ends."""
    facts = facts_of("while x.any():\n    x = x * 2\nreturn x", shaped(4, 4), truth=False)
    assert facts.operations == 1


DEVICES = {
    "ones": "mask = torch.ones(4, 4).tril()\nreturn x.masked_fill(mask == 0, 0.0)",
    "arange": "rows = torch.arange(4)\nreturn x.masked_fill(rows[:, None] < rows, 0.0)",
    "full": "bias = torch.full((4, 4), -1.0)\nreturn x + bias",
    "list": "table = torch.tensor([1.0, 2.0, 3.0, 4.0])\nreturn x * table.view(1, 4)",
    "several on a line": "return x + torch.zeros(4, 4) + torch.ones(4, 4)",
}


@pytest.mark.parametrize("name", DEVICES)
def test_tensor_on_another_device_names_the_line_that_made_it(name: str) -> None:
    """The call goes on as if the tensor were on the right device."""
    assert facts_of(DEVICES[name], shaped(4, 4)).other_device == [2]


@pytest.mark.parametrize(
    "body",
    [
        "return x + torch.zeros(4, 4, device=x.device)",
        "return x + torch.zeros(4, 4).to(x.device)",
        "return x + torch.zeros(4, 4).to(x)",
        "return x + torch.zeros_like(x) + x.new_ones(4, 4)",
        "return x * torch.tensor(0.5)",
        "return torch.where(x > 0, x, torch.tensor(-1.0))",
        "return x[torch.arange(2)]",
    ],
)
def test_tensor_on_the_device_of_the_input_is_no_fact(body: str) -> None:
    """Torch takes tensors without dimensions, and indices, from the CPU."""
    assert facts_of(body, shaped(4, 4)).other_device == []


def test_input_on_the_cpu_allows_other_tensors_there() -> None:
    """Only a call with two devices shows the fact."""
    assert facts_of(DEVICES["ones"], torch.ones(4, 4)).other_device == []


HALF = torch.ones(4, 4, dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("return x + torch.zeros(4, 4)", [2]),
        ("bias = torch.full((4, 4), -1.0).triu(1)\nreturn (x + bias).softmax(-1)", [2]),
        ("half = 1.0 / 10000 ** torch.linspace(0, 1, 4)\ncos = half.cos()\nreturn x * cos", [2]),
        ("return x + torch.zeros(4, 4, dtype=x.dtype)", []),
        ("return x + torch.zeros(4, 4, dtype=torch.float32)", []),
        ("return x + torch.zeros(4, 4).to(x.dtype)", []),
        ("return x + torch.zeros_like(x) + x.new_zeros(4, 4)", []),
        ("return x.float() + torch.zeros(4, 4)", []),
        ("return x.masked_fill(torch.ones(4, 4).tril() == 0, 0.0)", []),
        ("return x * torch.arange(4)", []),
        ("return x * 0.5 + torch.tensor(0.5)", []),
    ],
)
def test_default_dtype_is_a_fact_if_it_makes_half_precision_float32(
    body: str, lines: list[int]
) -> None:
    """A dtype that is written down, and a mask of comparisons, were decided on purpose."""
    assert facts_of(body, HALF).default_dtype == lines


def test_default_dtype_is_no_fact_for_float32() -> None:
    """The dtype does not change there."""
    assert facts_of("return x + torch.zeros(4, 4)", HALF.float()).default_dtype == []


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("x.softmax(-1)", [2]),
        ("torch.softmax(x, dim=-1)", [2]),
        ("F.softmax(x.float(), dim=-1).to(x.dtype)", []),
        ("F.softmax(x, dim=-1, dtype=torch.float32)", []),
    ],
)
def test_softmax_in_half_precision_has_its_line(code: str, lines: list[int]) -> None:
    """A softmax in float32 is no fact."""
    assert facts_of(f"return {code}", HALF).half_softmax == lines


def test_line_is_the_innermost_of_the_file() -> None:
    """A helper of the file has the line, a library has none."""
    names = names_of("def g(x):\n    return x.max().item()\n\ndef f(x):\n    return g(x)\n")
    recorder = FactsRecorder(PATH)
    with recorder:
        names["f"](torch.ones(2))
        torch.ones(2).max().item()
    assert recorder.facts().reads == [0, 2]


MODULE = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4, bias=False)
        self.register_buffer("triangle", torch.ones(4, 4).tril())
        self.register_buffer("scale", torch.ones(4))
        self.register_buffer("nothing", None)

    def forward(self, x):
        return self.used(x) * self.scale[:2].sum()
"""


def test_unused_state_has_the_names_of_parameters_and_buffers() -> None:
    """State that is read through a view is used."""
    layer = names_of(MODULE)["Layer"]()
    recorder = FactsRecorder(PATH)
    with torch.no_grad(), recorder:
        layer(torch.ones(2, 4))
    assert unused_state(layer, recorder.used) == ["unused.weight", "triangle"]
    assert unused_state(print, recorder.used) == []


def test_device_of_a_result_is_that_of_the_table_and_not_of_the_indices() -> None:
    """A table on the CPU is to blame, although the positions have the device of the input."""
    body = (
        "table = torch.ones(8, 4)\n"
        "places = torch.arange(8, device=x.device)\n"
        "return x + table[places]"
    )
    assert facts_of(body, shaped(8, 4)).other_device == [2]


def test_peak_does_not_depend_on_the_garbage_collector() -> None:
    """torch makes reference cycles that hold tensors. In a worker nothing collects them."""
    names = names_of(
        "import torch\n\n\nclass Layer(torch.nn.Module):\n    def forward(self, x):\n"
        "        for _ in range(4):\n            x = torch.softmax(x / 2, dim=-1)\n"
        "        return x\n"
    )
    peaks = []
    x = torch.empty(1024, 1024, device="meta")
    for switch in (gc.enable, gc.disable):
        switch()
        try:
            facts, _ = realistic_facts(PATH, names["Layer"], lambda layer: layer(x))
        finally:
            gc.enable()
        peaks.append(facts.peak_bytes)
    assert peaks == [3 * x.nbytes, 3 * x.nbytes]  # the result before, x / 2, and the result


@pytest.mark.thorough
def test_compiler_is_not_imported_for_a_realistic_call() -> None:
    """Its import takes a second. A stand-in is there only during the call."""
    code = (
        "import sys, torch\n"
        "from attn_drill.worker.answer_facts import realistic_facts\n"
        "x = torch.empty(4, 4, device='meta')\n"
        "assert realistic_facts('', lambda: None, lambda _: torch.softmax(x / 2, -1))[1]\n"
        "assert 'torch._dynamo' not in sys.modules and '_dynamo' not in vars(torch)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def realistic(source: str, *inputs: Tensor) -> tuple[Facts, bool]:
    """Return the facts about a realistic call of the class `Layer` of a file."""
    names = names_of(source)
    return realistic_facts(PATH, names["Layer"], lambda layer: layer(*inputs))


def test_realistic_call_moves_parameters_and_buffers_to_the_device() -> None:
    """A buffer is on the device of the input. A table in a plain attribute is not."""
    facts, is_complete = realistic(MODULE, shaped(2, 4))
    assert is_complete
    assert facts.other_device == []
    plain = MODULE.replace(
        'self.register_buffer("scale", torch.ones(4))', "self.scale = torch.ones(4)"
    )
    plain = plain.replace("self.scale[:2].sum()", "self.scale")
    facts, is_complete = realistic(plain, shaped(2, 4))
    assert (is_complete, facts.other_device) == (True, [11])


def test_realistic_call_fails_at_most_three_times() -> None:
    """All values are true, then false, then every tensor has no values."""
    source = (
        "class Layer:\n    def __call__(self, x):\n"
        "        tried.append(x.any().item())\n        1 / 0\n"
    )
    names = names_of(source)
    names["tried"] = []
    facts, is_complete = realistic_facts(PATH, names["Layer"], lambda layer: layer(shaped(2)))
    assert names["tried"] == [True, False, True]
    assert (is_complete, facts.reads) == (False, [3])


def test_realistic_call_whose_branch_raises_for_true_values_is_measured() -> None:
    """A check of the input raises for invalid values, and these are true here."""
    source = (
        "class Layer:\n    def __call__(self, x):\n"
        "        if (x > 5).any():\n            raise ValueError('too large')\n"
        "        return x + 1\n"
    )
    facts, is_complete = realistic(source, shaped(2))
    assert (is_complete, facts.reads) == (True, [3])


def test_exception_of_the_caller_ends_a_realistic_call() -> None:
    """The grading process stops a call that nobody waits for."""

    class StopError(BaseException):
        """An exception that is no Exception."""

    def stop() -> None:
        raise StopError

    layer = names_of(MODULE)["Layer"]
    with pytest.raises(StopError):
        realistic_facts(PATH, layer, lambda module: module(shaped(2, 4)), stop)
