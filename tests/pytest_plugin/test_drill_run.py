"""Tests of whole runs of `pytest --drill` with a fake grading server."""

import re
from pathlib import Path

import pytest

from tests.support.pytest_plugin import SHOWN, TINY, config_of, requests, run
from trainer.pytest_plugin import drill_run


def test_old_pytest_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has the needed version and the installed version."""
    monkeypatch.setattr(pytest, "version_tuple", (7, 4, 4))
    with pytest.raises(pytest.UsageError, match="--drill needs pytest 8 or newer; this is"):
        drill_run.take_part(config_of(Path()))


@pytest.mark.thorough
def test_without_paths_only_the_hidden_checks_run(folder: Path) -> None:
    """The first failed test of a file shows the whole report.

    Every failed test shows the command that repeats it.
    """
    files = ["--drill=prefix-sum=right.py", "--drill=prefix-sum=values.py"]
    ran = run(folder, *files, "--drill-seed=77", "--color=yes", "-rfs")
    assert ran.code == 1
    assert {name: result for name, result in ran.results.items() if result != "passed"} == {
        "values.values::first": "failure",
        "values.values::second (B, 1)": "failure",
        "values.properties::first": "skipped",
        "values.properties::second (B, 1)": "skipped",
        "values.bad sizes::two is odd": "failure",
    }
    assert len(ran.results) == 18
    assert "drill: prefix-sum, seed 77" in ran.out
    whole, brief = ran.texts["values.values::first"], ran.texts["values.values::second (B, 1)"]
    assert "✗ values" in whole
    assert "✗ values" not in brief
    assert f"values  case 2: second [B, 1]\n  {SHOWN} …\n  sizes  B=2\n" in brief
    assert brief.startswith(f"{SHOWN} …\n")
    command = "pytest --drill=prefix-sum=values.py --drill-seed=77 "
    test_id = "'values.py::values::second (B, 1)'"
    assert f"this test again  {command}--drill-pack={TINY} {test_id}" in brief
    assert "--drill-seed=77" in whole
    assert "Traceback" not in ran.out
    assert "trainer/pytest_plugin" not in ran.out
    assert "[2] values.py:1: needs values\n" in ran.out
    assert f"FAILED\x1b[0m values.py::\x1b[1mvalues::first\x1b[0m - {SHOWN}" in ran.out
    assert re.search(
        "\x1b[^m]+mFAILED\x1b[^m]+m  \x1b[^m]+mprefix-sum", ran.out
    )  # the report's colours
    assert not any("\x1b" in text or "#x1B" in text for text in ran.texts.values())
    expected = ["started", "GradeReference right", "Grade right", "Grade values", "closed"]
    assert requests(folder) == expected


def test_collect_only_grades_no_file(folder: Path) -> None:
    """`--collect-only` also works without xdist and without the cache."""
    options = ["--co", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    ran = run(folder, "--drill", "prefix-sum=values.py", *options)
    assert ran.code == 0
    assert "values.py::runs::second (B, 1)\n" in ran.out
    assert requests(folder) == ["started", "GradeReference right", "closed"]


@pytest.mark.thorough
def test_last_failed_tests_run_again(folder: Path) -> None:
    """`--lf` finds the tests under another seed.

    If they cannot be checked any more, they are skipped and the run fails. The next run has all
    tests.
    """
    ran = run(folder, "--drill", "prefix-sum=values.py")
    assert ran.count() == {"passed": 4, "failure": 3, "skipped": 2}
    (folder / "values.py").write_text("# loads")
    ran = run(folder, "--drill", "prefix-sum=values.py", "--lf")
    assert (ran.code, ran.count()) == (1, {"skipped": 3})
    ran = run(folder, "--drill", "prefix-sum=values.py", "--lf")
    assert (ran.code, ran.count()) == (1, {"failure": 1, "skipped": 8})
    (folder / "values.py").write_text("# values")
    run(folder, "--drill", "prefix-sum=values.py")
    (folder / "values.py").write_text("# right")
    options = ["--lf", "--drill-memory-limit=64"]
    ran = run(folder, "--drill", "prefix-sum=values.py", *options, MIB="64")
    assert (ran.code, ran.count()) == (0, {"passed": 3})


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="alone"),
        pytest.param(["-n", "2"], id="xdist", marks=pytest.mark.thorough),
    ],
)
def test_run_with_skipped_tests_and_no_failed_test_is_not_a_pass(
    folder: Path, options: list[str]
) -> None:
    """The tests are skipped with the reason, the terminal names the failure, and the code is 1."""
    drills = ["--drill=prefix-sum=loads.py", "--drill=prefix-sum=right.py", "--drill-seed=3"]
    ran = run(folder, *drills, *options, "-k", "values")
    assert (ran.code, ran.count()) == (1, {"skipped": 2, "passed": 2}), ran.out
    cause = "loads failed: SyntaxError: `--drill-time-limit` at line 7"
    reason = f"needs loads, so this was not checked: {cause}"
    assert ran.texts["loads.values::first"].startswith(f"{reason}\n")
    assert f"loads.py did not pass: {cause}\n" in ran.out
    assert "\nall tests  pytest --drill=prefix-sum=loads.py --drill-seed=3 " in ran.out
    assert "right.py did not pass" not in ran.out


@pytest.mark.thorough  # a refused reference has workers of xdist by default, too
def test_workers_of_xdist_share_one_grading(folder: Path) -> None:
    """Only the controller asks the server. Tests and results are the same as without workers."""
    args = ["--drill", "prefix-sum=values.py", "--drill", "prefix-sum=loads.py", ".", "-v"]
    alone, shared = run(folder, *args), run(folder, *args, "-n", "2")
    expected = ["started", "GradeReference right", "Grade values", "Grade loads", "closed"]
    assert requests(folder) == expected * 2
    assert shared.results == alone.results
    assert shared.code == alone.code == 1
    seeds = set(re.findall(r"--drill-seed=(\d+)", shared.out))
    assert seeds == set(re.findall(r"drill: prefix-sum, seed (\d+)", shared.out))
    assert len(seeds) == 1
    assert shared.out.count("✗ values") == shared.out.count("✗ loads") == 1
    assert f"FAILED values.py::values::first - {SHOWN}" in shared.out
    assert shared.texts["loads::loads"].startswith("SyntaxError: `--drill-time-limit` at line 7\n")


# The message for each kind of file.
SENTENCES = {
    "lost": "Grading lost.py ended the grading process 2 times (out of luck).",
    "refused": "This machine will not.",
    "values": "The reference of prefix-sum itself does not pass here",
}


@pytest.mark.thorough
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("files", "reference", "options", "expected"),
    [
        (["lost", "right"], "right", [], {"error": 9, "passed": 9}),
        (["refused"], "right", ["-n", "2"], {"error": 9}),
        (["right"], "refused", ["-n", "2"], {"error": 1}),
        (["right"], "values", [], {"error": 1}),
    ],
    ids=["lost server", "refused file", "refused reference", "wrong reference"],
)
def test_fault_of_the_grader_is_an_error(
    folder: Path, files: list[str], reference: str, options: list[str], expected: dict[str, int]
) -> None:
    """The tests have an error with a message instead of a failure, and the exit code is 3."""
    drills = [f"--drill=prefix-sum={file}.py" for file in files]
    ran = run(folder, *drills, *options, REFERENCE=reference)
    assert (ran.code, ran.count()) == (3, expected), ran.out
    assert SENTENCES[files[0] if reference == "right" else reference] in ran.out
    for words in ("Traceback", "trainer/pytest_plugin", "During handling"):
        assert words not in ran.out
    sent = requests(folder)
    assert any(request.startswith("Grade ") for request in sent) == (reference == "right")
    assert sent.count("Grade lost") == 2 * files.count("lost")
    assert sent[-1] == "closed"
