"""Broken content is an error of the pack; `drive`, and examples."""

import builtins
import sys
import types
from pathlib import Path

import pytest

from attn_drill.grading.case_set import load_case_set
from attn_drill.grading.content import (
    WrongExample,
    drive_source,
    load_content,
    load_module,
    wrong_examples,
)
from attn_drill.model.errors import GraderError, PackError
from attn_drill.packs import pack_reader
from tests.support.grading import GQA
from tests.support.rows import each_row


@each_row(
    "old, new, says",
    {
        "no drive": ("def drive", "def driven", "defines no `drive`"),
        "wrong dims": ('outputs={"out": "B L"}', 'outputs={"out": "L B"}', "the reference gives"),
        "cases() raises": (
            'case("forwards", B=3, L=5, **forwards)',
            "1 / 0",
            r"cases\.py, line \d+: cases\(\) raises ZeroDivisionError",
        ),
        "wrong output name": (
            'return {"out"',
            'return {"other"',
            "names \\['out'\\], but drive returns \\['other'\\]",
        ),
        "plain input from the stream of values": (
            '"reverse": reverse',
            '"reverse": float(draw.normal())',
            "draws a plain input",
        ),
        "broken cases": ('"""Cases', "1/0\n'''Cases", "cannot be loaded"),
        "cases that end the process": (
            "from attn_drill",
            "import sys\nsys.exit(3)\nfrom attn_drill",
            r"cases\.py, line 4: the file cannot be loaded: SystemExit",
        ),
        "unknown letter": (
            'outputs={"out": "B L"}',
            'outputs={"out": "B Q"}',
            r"cases\.py: case 'forwards': .* Q, which has no size",
        ),
        "no case": (
            "case = CaseMaker",
            "yield 'forwards'\n    case = CaseMaker",
            "yields an object of the type str",
        ),
        "no cases": (
            "def cases(draw):",
            "def cases(draw):\n    return\n\n\ndef others(draw):",
            r"cases\(\) returns None",
        ),
        "unknown keyword": (
            'yield case("forwards", B=3, L=5, **forwards)',
            'yield case("forwards", B=3, L=5, gradient=False, **forwards)',
            r"line \d+: .* gradient=False is neither a size nor an argument",
        ),
        "no refusal": (
            "def cases(draw):",
            "def refusals():\n    yield 3\n\n\ndef cases(draw):",
            r"refusals\(\) yields an object of the type int",
        ),
        "no names of outputs": (
            'return {"out": prefix_sum(given.x, reverse=True) if given.reverse else '
            "prefix_sum(given.x)}",
            "return prefix_sum(given.x)",
            "drive returns an object of the type Tensor. Return the outputs by name",
        ),
    },
)
def test_fault_of_the_cases_is_an_error_of_the_pack(
    tiny_pack: Path, old: str, new: str, says: str
) -> None:
    """The message has the fault, and the learner is not blamed."""
    assert_refused(tiny_pack / "challenges/prefix_sum/cases.py", old, new, PackError, says)


@each_row(
    "old, new, error, says",
    {
        "two outputs": (
            "return torch.cumsum(x, dim=-1)",
            "return torch.cumsum(x, dim=-1), x",
            PackError,
            "out of the reference has the type tuple",
        ),
        "another name": (
            "def prefix_sum",
            "def prefix_sums",
            PackError,
            r"solution\.py defines no prefix_sum",
        ),
        "broken reference": (
            "torch.cumsum(x, dim=-1)",
            "torch.nope(x)",
            GraderError,
            r"solution\.py, line \d+: the reference of prefix-sum fails on case",
        ),
        "NaN from the reference": (
            "return torch.cumsum(x, dim=-1)",
            "return x / 0 * 0",
            GraderError,
            "not finite",
        ),
    },
)
def test_fault_of_the_reference_is_an_error_of_the_pack(
    tiny_pack: Path, old: str, new: str, error: type[Exception], says: str
) -> None:
    """The message names the reference."""
    assert_refused(tiny_pack / "solutions/prefix_sum/solution.py", old, new, error, says)


def assert_refused(path: Path, old: str, new: str, error: type[Exception], says: str) -> None:
    """Change a file of a pack, and assert that its challenge cannot be graded."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(error, match=says):
        load_case_set(pack_reader.find_challenge(path.parents[2], "prefix-sum"), 1).expect()


def test_module_of_the_same_name_survives() -> None:
    """Loading `cases.py` does not replace another loaded module of the name `cases`."""
    module = types.ModuleType("cases")
    sys.modules["cases"] = module
    try:
        names = load_module("cases", "cases.py", "import dataclasses\nvalue = 3\n")
        assert names["value"] == 3
        assert sys.modules["cases"] is module
    finally:
        del sys.modules["cases"]


def test_content_of_a_challenge_is_loaded() -> None:
    """`drive_source` defines `drive`, and `refusals` has the bad sizes of `cases.py`."""
    content = load_content(GQA)
    assert "def drive(" in content.drive_source
    assert "GroupedQueryAttention" in content.reference
    assert content.refusals()
    assert [signature.name for signature in content.signatures] == [
        "GroupedQueryAttention.__init__",
        "GroupedQueryAttention.forward",
    ]


CASES = '''"""Cases of a challenge."""
import math
import secrets as unused

HALF, SECRET = 0.5, "secret"
OTHER = "other"


class Scaled:
    """A helper."""

    factor = math.sqrt(4.0) * HALF


def scaled(x):
    """Return x scaled."""
    return x * Scaled.factor  # a comment


def cases(draw):
    yield OTHER


def drive(implementation, given):
    """Call the implementation."""
    return {"out": implementation(scaled(given))}
'''


def test_cut_has_everything_that_drive_needs() -> None:
    """Helpers of helpers are included, so the cut runs without the rest of the file."""
    names: dict[str, object] = {}
    exec(drive_source(CASES, "cases.py"), names)
    drive = names["drive"]
    assert callable(drive)
    assert drive(lambda x: x + 1, 3.0) == {"out": 4.0}


@pytest.mark.parametrize("text", ["cases", "OTHER", "unused", "a comment", "Return x", "A helper"])
def test_cut_has_nothing_else(text: str) -> None:
    """A submission can read the cut in the memory of its worker."""
    assert text not in drive_source(CASES, "cases.py")


def test_last_definition_of_a_helper_is_the_valid_one() -> None:
    """All statements that bind a name are included, in the order of the file."""
    source = "def f(x):\n    return 1\ndef f(x):\n    return 2\ndrive = f\n"
    names: dict[str, object] = {}
    exec(drive_source(source, "cases.py"), names)
    assert names["drive"](None) == 2  # type: ignore[operator]


def test_file_without_drive_is_refused() -> None:
    """A `drive` inside another function does not count."""
    with pytest.raises(PackError, match=r"pack/cases\.py defines no `drive` at its top level"):
        drive_source("def cases():\n    def drive():\n        pass\n", "pack/cases.py")


PROMPT = """# A sum

```python
>>> total(torch.ones(2))
tensor(2.)
>>> y = total(torch.rand(2))  # drawn from seed 0
>>> round(float(y), 2)
1.26
```

Text.
"""


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", []),
        ("tensor(2.)", "tensor(3.)", [WrongExample(4, "total(torch.ones(2))", "tensor(2.)")]),
        (
            ">>> total",
            ">>> totl",
            [WrongExample(4, "totl(torch.ones(2))", "NameError: name 'totl'")],
        ),
        ("tensor(2.)\n", "", [WrongExample(4, "total(torch.ones(2))", "tensor(2.)")]),
    ],
    ids=["right", "wrong result", "exception", "no result"],
)
def test_wrong_example_is_found(old: str, new: str, wrong: list[WrongExample]) -> None:
    """It has the line of the prompt and the real result."""
    found = wrong_examples(PROMPT.replace(old, new, 1), {"total": lambda x: x.sum()})
    assert [(example.line, example.source) for example in found] == [
        (example.line, example.source) for example in wrong
    ]
    assert all(example.result.startswith(wrong[0].result) for example in found)


def test_examples_leave_no_name_behind() -> None:
    """Python keeps a value that it displays as `_`, for all modules."""
    wrong_examples("```\n>>> 1 + 1\n2\n```\n", {})
    assert not hasattr(builtins, "_")
