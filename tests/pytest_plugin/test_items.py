"""Tests of the ids of tests: choosing tests, and files in unusual places."""

import re
from pathlib import Path

import pytest

from tests.support.pytest_plugin import requests, run

# The counts with the ordinary test of the project.
WITH_OWN_TEST = {"passed": 5, "failure": 3, "skipped": 2}

# The options that choose tests, and the expected counts.
CHOICES: dict[str, tuple[list[str], dict[str, int]]] = {
    "skipped tests only": (["-k", "properties"], {"skipped": 2}),
    "words": (
        ["-k", "second and not bad or properties"],
        {"failure": 1, "passed": 1, "skipped": 2},
    ),
    "stop at the first": (["-x"], {"passed": 3, "failure": 1}),
    "a test by its id": (["values.py::values::second (B, 1)"], {"failure": 1}),
    "a check by its id": (["values.py::bad sizes"], {"passed": 1, "failure": 1}),
    "another file": (["test_own.py"], WITH_OWN_TEST),
    "the folder of the file": (["."], WITH_OWN_TEST),
    "testpaths": (["-c", "testpaths.ini"], WITH_OWN_TEST),
    "without a terminal": (["-p", "no:terminal"], WITH_OWN_TEST | {"passed": 4}),
}


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize("choice", CHOICES)
def test_tests_are_chosen_by_word_id_or_path(folder: Path, choice: str) -> None:
    """The text of each failed test names its check."""
    args, expected = CHOICES[choice]
    (folder / "testpaths.ini").write_text("[pytest]\ntestpaths = test_own.py\n")
    ran = run(folder, "--drill", "prefix-sum=values.py", *args)
    assert (ran.code, ran.count()) == (1, expected), ran.out
    for name, text in ran.texts.items():
        if ran.results[name] == "failure":
            check = name.partition(".")[2].partition("::")[0]
            assert re.search(f"^{check}($|  case)", text, re.MULTILINE)


@pytest.mark.thorough
def test_files_with_unusual_paths_are_graded(folder: Path) -> None:
    """No file is imported, even if it is named like a test. All ids are unique.

    Some files are outside pytest's root folder.
    """
    (folder / "build").mkdir()
    (folder / "odd [1]").mkdir()
    places = ["test_right.py", "build/deep.py", "odd [1]/odd.py", "right.txt"]
    places += ["../outside.py", "../other.py"]
    for place in places:
        (folder / place).write_text("# right\nraise SystemExit\n")
    (folder / "both.py").write_text("# values\nraise SystemExit\n")
    drills = [f"--drill=prefix-sum={place}" for place in [*places, "both.py"]]
    for paths, own in (((), 0), (("test_own.py", "build", "--doctest-modules"), 1)):
        ran = run(folder, *drills, "--drill=signs=both.py", *paths)
        # The references are graded before the files.
        assert requests(folder)[1:3] == ["GradeReference right"] * 2
        (folder / "requests.txt").unlink()
        assert ran.count() == {"passed": 6 * 9 + 2 * 4 + own, "failure": 6, "skipped": 4}, ran.out
        text = ran.texts["both.signs.values::first"]
        assert "--drill=prefix-sum=both.py --drill=signs=both.py" in text
        assert "both.py::signs::values::first" in text
    # pytest itself refuses a path with `[` on the command line.
    assert run(folder, *drills, "odd [1]/odd.py").code == 4
