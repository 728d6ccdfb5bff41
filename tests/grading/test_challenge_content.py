"""Broken `cases.py` files and references are reported as errors of the pack."""

import sys
import types
from pathlib import Path

import pytest

from tests.support.checks import GQA
from trainer.grading.case_set import load_case_set
from trainer.grading.challenge_content import load_content, load_module
from trainer.model.errors import GraderError, PackError
from trainer.packs import pack_reader


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
            r"cases\(\) raises ZeroDivisionError",
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
            "solutions/prefix_sum/solution.py",
            "torch.cumsum(x, dim=-1)",
            "torch.nope(x)",
            GraderError,
            "The reference of prefix-sum fails on case",
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
