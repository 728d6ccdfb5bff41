"""Broken `cases.py` files and references are reported as errors of the pack."""

import sys
import types
from pathlib import Path

import pytest

from attn_drill.grading.case_set import load_case_set
from attn_drill.grading.content import load_content, load_module
from attn_drill.model.errors import GraderError, PackError
from attn_drill.packs import pack_reader
from tests.support.grading import GQA


@pytest.mark.parametrize(
    ("file", "old", "new", "error", "says"),
    [
        pytest.param(
            "challenges/prefix_sum/cases.py",
            "def drive",
            "def driven",
            PackError,
            "defines no `drive`",
            id="no drive",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'outputs={"out": "B L"}',
            'outputs={"out": "L B"}',
            PackError,
            "the reference gives",
            id="wrong dims",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'case("forwards", B=3, L=5, **forwards)',
            "1 / 0",
            PackError,
            r"cases\.py, line \d+: cases\(\) raises ZeroDivisionError",
            id="cases() raises",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'return {"out"',
            'return {"other"',
            PackError,
            "names \\['out'\\], but drive returns \\['other'\\]",
            id="wrong output name",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            '"reverse": reverse',
            '"reverse": float(draw.normal())',
            PackError,
            "draws a plain input",
            id="plain input from the stream of values",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            '"""Cases',
            "1/0\n'''Cases",
            PackError,
            "cannot be loaded",
            id="broken cases",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            "from attn_drill",
            "import sys\nsys.exit(3)\nfrom attn_drill",
            PackError,
            r"cases\.py, line 4: the file cannot be loaded: SystemExit",
            id="cases that end the process",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'outputs={"out": "B L"}',
            'outputs={"out": "B Q"}',
            PackError,
            r"cases\.py: case 'forwards': .* Q, which has no size",
            id="unknown letter",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            "case = CaseMaker",
            "yield 'forwards'\n    case = CaseMaker",
            PackError,
            "yields an object of the type str",
            id="no case",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            "def cases(draw):",
            "def cases(draw):\n    return\n\n\ndef others(draw):",
            PackError,
            r"cases\(\) returns None",
            id="no cases",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'yield case("forwards", B=3, L=5, **forwards)',
            'yield case("forwards", B=3, L=5, gradient=False, **forwards)',
            PackError,
            r"line \d+: .* gradient=False is neither a size nor an argument",
            id="unknown keyword",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            "def cases(draw):",
            "def refusals():\n    yield 3\n\n\ndef cases(draw):",
            PackError,
            r"refusals\(\) yields an object of the type int",
            id="no refusal",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'return {"out": prefix_sum(given.x, reverse=True) if given.reverse else '
            "prefix_sum(given.x)}",
            "return prefix_sum(given.x)",
            PackError,
            "drive returns an object of the type Tensor. Return the outputs by name",
            id="no names of outputs",
        ),
        pytest.param(
            "solutions/prefix_sum/solution.py",
            "return torch.cumsum(x, dim=-1)",
            "return torch.cumsum(x, dim=-1), x",
            PackError,
            "out of the reference has the type tuple",
            id="two outputs",
        ),
        pytest.param(
            "solutions/prefix_sum/solution.py",
            "def prefix_sum",
            "def prefix_sums",
            PackError,
            r"solution\.py defines no prefix_sum",
            id="another name",
        ),
        pytest.param(
            "solutions/prefix_sum/solution.py",
            "torch.cumsum(x, dim=-1)",
            "torch.nope(x)",
            GraderError,
            r"solution\.py, line \d+: the reference of prefix-sum fails on case",
            id="broken reference",
        ),
        pytest.param(
            "solutions/prefix_sum/solution.py",
            "return torch.cumsum(x, dim=-1)",
            "return x / 0 * 0",
            GraderError,
            "not finite",
            id="NaN from the reference",
        ),
    ],
)
def test_broken_content_is_an_error_of_the_pack(
    pack: Path, file: str, old: str, new: str, error: type[Exception], says: str
) -> None:
    """The message names the faulty file of the pack, and the learner is not blamed."""
    path = pack / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(error, match=says):
        load_case_set(pack_reader.find_challenge(pack, "prefix-sum"), 1).expect()


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
