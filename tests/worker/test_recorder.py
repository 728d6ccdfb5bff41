"""A recorder keeps each operation with its lines, parents and name, and writes into inputs."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attn_drill.worker import _observers as recorder_module
from attn_drill.worker._observers import Recorder
from attn_drill.worker.protocol import Step

PATH = "answer.py"


def record(source: str, **inputs: Tensor) -> tuple[Recorder, Any]:
    """Return the recorder of a call of `f` from the source, and the value that `f` returned."""
    names: dict[str, Any] = {"torch": torch}
    exec(compile(source, PATH, "exec"), names)
    recorder = Recorder(PATH)
    recorder.add_inputs(inputs)
    with torch.no_grad(), recorder:
        returned = names["f"](**inputs)
    return recorder, returned


def of_line(recorder: Recorder, line: int) -> list[Step]:
    """Return the operations whose innermost line is `line`."""
    return [
        step
        for step in recorder.steps
        if step.lines[:1] == [line] and step.operation not in ("number", "return")
    ]


def value_of(recorder: Recorder, step: Step) -> Tensor:
    """Return the recorded result of a step."""
    value = recorder.values[[id(each) for each in recorder.steps].index(id(step))]
    assert value is not None
    return value


X = torch.arange(6.0).reshape(2, 3)


def test_operations_have_a_line_a_value_and_a_name() -> None:
    """If a line binds a name, the last operation of the line gets the name."""
    recorder, _ = record("def f(x):\n    y = x.t() * 2\n    return y + 1\n", x=X)
    assert [(step.operation, step.lines, step.name) for step in recorder.steps[1:]] == [
        ("t", [2], ""),
        ("mul", [2], "y"),
        ("add", [3], ""),
        ("return", [3], ""),
    ]
    assert torch.equal(value_of(recorder, of_line(recorder, 2)[-1]), X.t() * 2)


def test_parents_lead_back_to_the_inputs() -> None:
    """The chain of parents goes through views and returned values."""
    recorder, returned = record(
        "def g(a):\n    return a.view(-1)\ndef f(x, m):\n    return g(x * 2)[m]\n",
        x=X,
        m=torch.tensor([0, 5]),
    )
    waiting, seen = [recorder.step_of(returned)], set()
    while waiting:
        step = waiting.pop()
        seen.add(recorder.steps[step].operation)
        waiting += recorder.steps[step].parents
    assert {"input x", "input m", "mul", "view", "index"} <= seen


def test_innermost_line_comes_before_the_lines_of_its_callers() -> None:
    """An operation in a function of the file has its own line, then the line of the call."""
    recorder, _ = record(
        "def g(a):\n    return a * 2\ndef f(x):\n    y = g(x)\n    return g(y)\n", x=X
    )
    assert [step.lines for step in recorder.steps if step.operation == "mul"] == [[2, 4], [2, 5]]


def cut_lines(source: str) -> set[int]:
    """Return the lines of `f` that cut gradients off."""
    names: dict[str, Any] = {"torch": torch}
    exec(compile(source, PATH, "exec"), names)
    recorder, x = Recorder(PATH, names=False, gradients=True), X.clone().requires_grad_()
    recorder.add_inputs({"x": x})
    with recorder:
        recorder.mark_used([names["f"](x)])
    return {step.lines[0] for step in recorder.steps if step.is_cut}


def test_detach_and_no_grad_cut_gradients_off() -> None:
    """A detached tensor counts only if it is used: autograd also detaches tensors to save them."""
    assert cut_lines(
        "def f(x):\n    w = torch.softmax(x, -1)\n    a = w.tanh() + w.amax()\n"
        "    b = w.detach() * 2\n    c = x.data + b\n"
        "    with torch.no_grad():\n        d = a * 3\n    return a + c + d\n"
    ) == {4, 5, 7}


def test_autograd_function_cuts_nothing_off() -> None:
    """Gradients are off in the `forward` of an autograd function, but its result has a gradient."""
    assert cut_lines(
        "class Twice(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x):\n        return (x + 1) * 2\n"
        "    @staticmethod\n    def backward(ctx, gradient):\n        return gradient\n"
        "def f(x):\n    y = Twice.apply(x)\n    with torch.no_grad():\n        z = y * 2\n"
        "    return y + z\n"
    ) == {11}


def test_write_into_an_input_is_recorded() -> None:
    """A write into an input counts, also through a view. A write into other memory does not."""
    source = (
        "def f(x):\n    y = x.clone()\n    y.mul_(2)\n    y[0] = 0\n    x[1] = 7\n    return y\n"
    )
    recorder, _ = record(source, x=X.clone())
    written = {step.lines[0] for step in recorder.steps if step.written == 0}
    assert written == {5}


def test_write_into_a_slice_records_the_whole_tensor() -> None:
    """After a write into a slice, the whole tensor is a result of the line."""
    recorder, returned = record(
        "def f(x):\n    y = torch.zeros(2, 3)\n    y[:, 0] = x[:, 1]\n    return y\n", x=X
    )
    assert torch.equal(value_of(recorder, of_line(recorder, 3)[-1]), returned)
    seen, waiting = set(), [recorder.step_of(returned)]
    while waiting:
        step = waiting.pop()
        seen.add(step)
        waiting += recorder.steps[step].parents
    assert 0 in seen  # the step of x


def test_python_numbers_are_recorded() -> None:
    """A number has its line and its name. A returned number has no name."""
    recorder, _ = record(
        "def f(n):\n    a = 3 * 4\n    b = a / 8\n    return b\n", n=torch.zeros(())
    )
    numbers = [
        (step.lines, step.name, float(value_of(recorder, step)))
        for step in recorder.steps
        if step.operation == "number"
    ]
    assert numbers == [([2], "a", 12.0), ([3], "b", 1.5), ([4], "", 1.5)]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return torch.vmap(lambda row: row * 2)(x)", id="vmap"),
        pytest.param("return torch.einsum('ij,kj->ik', x, x)", id="einsum"),
        pytest.param("return [row * 2 for row in x][0]", id="comprehension"),
        pytest.param("return (lambda a: a * 2)(x)", id="lambda"),
        pytest.param("return sum(row * 2 for row in x)", id="generator"),
    ],
)
def test_results_inside_one_line_belong_to_the_line(body: str) -> None:
    """The results of comprehensions, lambdas and torch's transforms belong to their line."""
    recorder, returned = record(f"def f(x):\n    {body}\n", x=X)
    values = [value_of(recorder, step) for step in of_line(recorder, 2)]
    assert any(torch.equal(value, returned) for value in values)


def test_values_are_copies() -> None:
    """The recorded value of a result does not change if the result is changed later."""
    recorder, _ = record("def f(x):\n    y = x + 1\n    y.zero_()\n    return y\n", x=X)
    assert torch.equal(value_of(recorder, of_line(recorder, 2)[-1]), X + 1)


def test_only_the_file_is_traced_and_only_while_recording(tmp_path: Path) -> None:
    """An operation in another file has the line of the call. The trace ends with the recorder."""
    before = sys.gettrace()
    other = tmp_path / "other.py"
    other.write_text("def helper(x):\n    return x * 3\n")
    source = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom other import helper\n"
        "def f(x):\n    return helper(x)\n"
    )
    recorder, _ = record(source, x=X)
    assert [step.lines for step in recorder.steps if step.operation == "mul"] == [[5]]
    assert sys.gettrace() is before


def test_steps_and_bytes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations beyond the limits run as usual and are not recorded."""
    monkeypatch.setattr(recorder_module, "MOST_STEPS", 10)
    recorder, returned = record(
        "def f(x):\n    for _ in range(50):\n        x = x + 1\n    return x\n", x=X
    )
    assert len(recorder.steps) == 10
    assert torch.equal(returned, X + 50)
    monkeypatch.setattr(recorder_module, "MOST_STEP_BYTES", 20)
    recorder, _ = record("def f(x):\n    return (x * 2)[0]\n", x=X)
    values = zip(recorder.steps, recorder.values, strict=True)
    is_kept = {step.operation: value is not None for step, value in values}
    assert (is_kept["mul"], is_kept["select"]) == (False, True)


def test_results_before_an_exception_are_kept() -> None:
    """The recorder keeps the results that were made before a line raised an exception."""
    names: dict[str, Any] = {"torch": torch}
    exec(compile("def f(x):\n    y = x * 2\n    return y @ y\n", PATH, "exec"), names)
    recorder = Recorder(PATH)
    recorder.add_inputs({"x": X})
    with pytest.raises(RuntimeError, match="mat1"), torch.no_grad(), recorder:
        names["f"](X)
    assert [step.operation for step in of_line(recorder, 2)] == ["mul"]


def test_numbers_of_operations_and_attributes_are_recorded() -> None:
    """A size is no number that an operation computes with."""
    recorder, _ = record(
        "class C:\n"
        "    def __init__(self, scale):\n        self.scale = scale / 4\n"
        "    def use(self, x):\n        return x.reshape(-1) * self.scale\n"
        "def f(x):\n    return C(2).use(x)\n",
        x=X,
    )
    numbers = {(step.lines[0], step.name) for step in recorder.steps if step.operation == "number"}
    assert numbers == {(2, "scale"), (3, "self.scale")}
    computed = {step.operation: step.numbers for step in of_line(recorder, 5)}
    assert computed == {"view": [], "mul": [0.5]}
