"""Cases, weights and expected values of a challenge and a seed."""

from pathlib import Path

import pytest

from trainer.grading.case_set import load_case_set
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
            id="raises",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'return {"out"',
            'return {"other"',
            PackError,
            "names \\['out'\\], drive gives \\['other'\\]",
            id="wrong name",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            '"reverse": reverse',
            '"reverse": float(draw.normal())',
            PackError,
            "draws a plain input",
            id="plain input of the values",
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
def test_broken_content(
    pack: Path, file: str, old: str, new: str, error: type[Exception], says: str
) -> None:
    """The pack's own faults are named as such, never put on the learner."""
    path = pack / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(error, match=says):
        load_case_set(pack_reader.find_challenge(pack, "prefix-sum"), 1).expect()
