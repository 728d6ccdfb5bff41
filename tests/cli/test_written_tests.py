"""`start --tests` and `check` of a file of tests."""

import json
from pathlib import Path

import pytest

from tests.support.cli import drill

TEST = """
def test_ones(RMSNorm):
    out = RMSNorm(8)(torch.ones(3, 8))
    torch.testing.assert_close(out, torch.ones(3, 8), rtol=0, atol=1e-5)
"""


def test_file_of_tests_is_handed_out_once_and_graded(tmp_path: Path) -> None:
    """The learner's tests stay, and the report says which mistakes they miss."""
    started = drill("start", "rmsnorm", "--tests", cwd=tmp_path)
    assert "attn-drill check rmsnorm test_rmsnorm.py" in started.stdout
    path = tmp_path / "test_rmsnorm.py"
    path.write_text(path.read_text() + TEST)
    assert "already there" in drill("start", "rmsnorm", "--tests", cwd=tmp_path).stdout
    shown = drill("check", "test_rmsnorm.py", "--seed", "4", cwd=tmp_path, code=1).stdout
    assert shown.startswith("FAILED  tests of rmsnorm  seed 4  test_rmsnorm.py\n")
    assert "Not caught" in shown
    checked = drill("check", "rmsnorm", path.name, "--seed", "4", "--json", cwd=tmp_path, code=1)
    found = json.loads(checked.stdout)
    assert found["schema"] == "attn-drill.tests/1"
    assert found["tests"] == ["test_ones"]
    assert 0 < found["caught"] < len(found["mistakes"])
    lines = [line for line in shown.splitlines() if "caught" in line]
    assert f"{found['caught']} of {len(found['mistakes'])} mistakes caught" in lines[0]


def test_answer_with_the_name_of_a_test_file_is_graded_as_an_answer(tmp_path: Path) -> None:
    """A file of tests imports the module that it tests."""
    (tmp_path / "test_rmsnorm.py").write_text("import torch\n")
    done = drill("check", "rmsnorm", "test_rmsnorm.py", cwd=tmp_path, code=1)
    assert "defines no RMSNorm" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rmsnorm", "test_gqa.py"], "does not import rmsnorm. Tests of rmsnorm begin with"),
        (["test_gqa.py", "--case", "1"], "has no cases"),
        (["test_gqa.py", "--html", "page.html"], "no page"),
    ],
)
def test_arguments_that_do_not_fit_tests_are_refused(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    """The sentence says what to do."""
    drill("start", "gqa", "--tests", cwd=tmp_path)
    path = tmp_path / "test_gqa.py"
    path.write_text(path.read_text() + "\ndef test_nothing():\n    pass\n")
    assert sentence in drill("check", *arguments, cwd=tmp_path, code=2).stderr


def test_tests_have_no_level(tmp_path: Path) -> None:
    """Nothing is written."""
    done = drill("start", "rmsnorm", "--tests", "--level", "blank", cwd=tmp_path, code=2)
    assert "no level" in done.stderr
    assert not list(tmp_path.glob("*.py"))
