"""Tests of `pytest --drill`: its items, their results, and runs of pytest without it."""

import os
import random
import re
import signal
import subprocess
import sys
import uuid
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.paths import ROOT, TINY_PACK
from tests.support.waiting import wait_until
from trainer.model.case import Case
from trainer.model.checks import CHECK_ORDER, Status, Verdict
from trainer.model.report import Outcome, Report
from trainer.packs import mistakes, pack_reader
from trainer.pytest_plugin import drill_run as drill_run
from trainer.pytest_plugin.grade_files import Drill, read_options, repeating_command
from trainer.pytest_plugin.test_results import results, settled

TINY = TINY_PACK
PLUGIN = ("-p", "trainer.pytest_plugin.plugin")

# Puts a fake in the place of the grading server. The first line of a file says what its report is.
# All requests are written down.
SHOWN = r"it is \x1b[31m3 and must be 4"  # the message below, made visible
CONFTEST = """
import os
import trainer.server.pool as pool
from trainer.model.report import Frame, Outcome, Report
from trainer.model.case import Case
from trainer.server.messages import GradeReference, Refused, Verdict
from trainer.server.process import ServerLostError

CASES = tuple(Case(name, {}, {}, {"B": 2}) for name in ("first", "second [B, 1]"))
MESSAGE = "it is \\x1b[31m3 and must be 4 …"


def on_cases(check, status):
    message = MESSAGE if status == "failed" else ""
    return [Outcome(check, status, message, case.name, n) for n, case in enumerate(CASES, 1)]


def sizes(second):
    both = (("passed", "one is odd"), (second, "two is odd"))
    return [Outcome("bad sizes", status, message) for status, message in both]


def outcomes(kind):
    start = [Outcome("loads", "passed"), *on_cases("runs", "passed")]
    if kind == "values":
        skipped = Outcome("properties", "skipped", "needs values")
        return [*start, *on_cases("values", "failed"), skipped, *sizes("failed")]
    if kind == "loads":
        message = "SyntaxError: `--time-limit` at line 7"
        failed = Outcome("loads", "failed", message, frames=(Frame(7, "", "x ="),))
        later = ("runs", "values", "properties", "bad sizes")
        return [failed, *(Outcome(check, "skipped", "needs loads") for check in later)]
    end = [*on_cases("properties", "passed"), *sizes("passed")]
    return [*start, *on_cases("values", "passed"), *end]


def say(what):
    with open("requests.txt", "a") as file:
        file.write(f"{what}\\n")


class Server:
    def __init__(self, packs):
        say("started")

    def ask(self, request):
        name, kind = "it.py", os.environ.get("REFERENCE", "right")
        if not isinstance(request, GradeReference):
            name, kind = request.submission.name, request.submission.source.split()[1]
            assert (request.seconds, request.memory_mib) == (10.0, int(os.environ.get("MIB", 2048)))
        say(f"{type(request).__name__} {kind}")
        if kind == "lost":
            raise ServerLostError("out of luck")
        if kind == "refused":
            return Refused(request.id, "This machine will not.")
        made = tuple(outcomes(kind))
        verdict = "failed" if any(outcome.status == "failed" for outcome in made) else "passed"
        report = Report(request.challenge, name, request.seed, verdict, made, CASES)
        return Verdict(request.id, report)

    def close(self):
        say("closed")


pool.ServerProcess = Server
"""


@dataclass(frozen=True)
class Ran:
    """A run of pytest: the result and the text of each test, by its name in JUnit's file."""

    code: int
    out: str
    results: dict[str, str]
    texts: dict[str, str]

    def count(self) -> dict[str, int]:
        """Return how many tests have each result."""
        return dict(Counter(self.results.values()))


def environment(**more: str) -> dict[str, str]:
    """Return our environment without the variables of pytest and of its workers."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "ATTN_DRILL_", "COV_"))
    }
    return {**ours, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **more}


def run(folder: Path, *args: str, plugin: Sequence[str] = PLUGIN, **more: str) -> Ran:
    """Run pytest in a folder. `more` are variables of the environment."""
    (folder / "junit.xml").unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *plugin, f"--drill-pack={TINY}"]
    done = subprocess.run(
        [*command, "--junitxml=junit.xml", *args],
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    found, texts = {}, {}
    if (folder / "junit.xml").exists():
        for case in ET.parse(folder / "junit.xml").iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            assert name not in found, f"two tests are called {name}"
            kinds = [child for child in case if child.tag in ("failure", "error", "skipped")]
            found[name] = kinds[0].tag if kinds else "passed"
            texts[name] = f"{kinds[0].get('message')}\n{kinds[0].text}" if kinds else ""
    return Ran(done.returncode, done.stdout, found, texts)


def project(place: Path, conftest: str = "") -> Path:
    """Make a folder with a test of its own and files that cannot be imported."""
    place.mkdir()
    (place / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (place / "conftest.py").write_text(conftest)
    (place / "test_own.py").write_text("def test_own():\n    pass\n")
    for kind in ("right", "values", "loads", "lost", "refused"):
        (place / f"{kind}.py").write_text(f"# {kind}\nraise SystemExit\n")
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project that is graded by the fake server."""
    return project(tmp_path / "project", CONFTEST)


def requests(folder: Path) -> list[str]:
    """Return what the fake server was asked."""
    return (folder / "requests.txt").read_text().splitlines()


# The results of the tests, from two reports.


def on_cases(check: str) -> list[Outcome]:
    """Return that a check passed on both cases."""
    return [Outcome(check, "passed", "", case, n) for n, case in enumerate(("one", "two"), 1)]


RIGHT = [
    Outcome("loads", "passed"),
    *on_cases("runs"),
    *on_cases("values"),
    *on_cases("properties"),
    Outcome("properties", "passed", case="two", number=2),
    Outcome("bad sizes", "passed", "odd"),
    Outcome("bad sizes", "passed", "even"),
]


def report(outcomes: Sequence[Outcome], verdict: Verdict = "failed") -> Report:
    """Return a report with these outcomes."""
    cases = tuple(Case(name, {}, {}, {}) for name in ("one", "two"))
    return Report("made-up", "it.py", 1, verdict, tuple(outcomes), cases)


REFERENCE = report(RIGHT, "passed")


def failed(check: str, number: int | None = None) -> Outcome:
    """Return a failure."""
    return Outcome(check, "failed", f"{check} {number} is wrong", None, number)


def test_each_check_and_case_is_a_test() -> None:
    """Two outcomes on one case are one test; several on the whole file are named by messages."""
    assert [one.test.names for one in results(REFERENCE, REFERENCE)] == [
        ("loads",),
        *((check, case) for check in ("runs", "values", "properties") for case in ("one", "two")),
        ("bad sizes", "odd"),
        ("bad sizes", "even"),
    ]


def test_names_are_unique_and_have_one_line() -> None:
    """Whatever a pack calls its cases, and though many bad sizes are refused for one reason."""
    cases = ("a::b", "a:b", "a\n b\x1b[0m", "", "a:b [2]")
    odd = [Outcome("runs", "passed", "", case, n) for n, case in enumerate(cases, 1)]
    odd += [Outcome("bad sizes", "passed", reason) for reason in ("odd", "even", "odd", "odd")]
    names = [one.test.names[1] for one in results(report(odd), report(odd))]
    of_cases = ["a:b", "a:b (2)", r"a b\x1b(0m", "4", "a:b (2) (2)"]
    assert names == [*of_cases, "odd", "even", "odd (2)", "odd (3)"]


# Reports by what is special in them: the outcomes, the verdict, the tests that did not pass.
REPORTS: dict[str, tuple[list[Outcome], Verdict, dict[str, str]]] = {
    "right": (RIGHT, "passed", {}),
    "a case": (
        [*RIGHT[:4], failed("values", 2), *RIGHT[5:]],
        "failed",
        {"values two": "failed"},
    ),
    "one of two outcomes on a case": (
        [*RIGHT[:7], failed("properties", 2), *RIGHT[8:]],
        "failed",
        {"properties two": "failed"},
    ),
    "second of two on the whole file": (
        [*RIGHT[:-1], failed("bad sizes")],
        "failed",
        {"bad sizes even": "failed"},
    ),
    "one on the whole file instead of two": (
        [*RIGHT[:-2], failed("bad sizes")],
        "error",
        {"bad sizes odd": "failed", "bad sizes even": "skipped"},
    ),
    "case instead of file": ([failed("loads", 2), *RIGHT[1:]], "failed", {"loads": "failed"}),
    "file instead of case": (
        [failed("runs"), *RIGHT],
        "timeout",
        {"runs one": "failed", "runs two": "failed"},
    ),
    "unknown check": ([failed("memory", 2), *RIGHT], "failed", {"loads": "failed"}),
    "unknown case": (
        [failed("values", 3), *RIGHT],
        "failed",
        {"values one": "failed", "values two": "failed"},
    ),
    "verdict without a failure": (RIGHT, "memory", {"loads": "failed"}),
    "passed without all checks": (
        RIGHT[:-2],
        "passed",
        {"bad sizes even": "failed", "bad sizes odd": "failed"},
    ),
    "later checks leave the case out": (
        [*RIGHT[:2], failed("runs", 2), RIGHT[3], RIGHT[5], *RIGHT[-2:]],
        "error",
        {"runs two": "failed", "values two": "skipped", "properties two": "skipped"},
    ),
    "a check that was not made": (
        [*RIGHT[:4], failed("values", 2), Outcome("properties", "skipped"), *RIGHT[-2:]],
        "failed",
        {"values two": "failed", "properties one": "skipped", "properties two": "skipped"},
    ),
}


@pytest.mark.parametrize("special", REPORTS)
def test_results_of_a_report(special: str) -> None:
    """A failure fails its test, a check that was not made skips its tests, and the rest passes."""
    outcomes, verdict, expected = REPORTS[special]
    found = results(REFERENCE, report(outcomes, verdict))
    assert {
        " ".join(one.test.names): one.status for one in found if one.status != "passed"
    } == expected


def test_empty_report_fails_everything() -> None:
    """Nothing passes that was not looked at."""
    assert {one.status for one in results(REFERENCE, report([]))} == {"failed"}


def test_skipped_tests_fail_if_the_failing_test_is_not_chosen() -> None:
    """Else nothing would tell of the failure. The first failing test shows the whole report."""
    later = ("runs", "values", "properties", "bad sizes")
    broken = report(
        [failed("loads"), *(Outcome(check, "skipped", "needs loads") for check in later)]
    )
    found = results(REFERENCE, broken)
    everything, some = settled(found, broken), settled(found[1:], broken)
    assert Counter(one.status for one in everything) == {"failed": 1, "skipped": 8}
    assert Counter(one.status for one in some) == {"failed": 8}
    assert [one.shows_report for one in some] == [True] + [False] * 7
    message = "needs loads, so this was not looked at: loads failed: loads None is wrong"
    assert some[2].outcomes == (Outcome("values", "failed", message, number=1),)


def test_no_failure_of_a_report_is_lost() -> None:
    """In 300 random reports, a failing test tells each failure, and no choice of tests is green."""
    drawn = random.Random(7)
    statuses: tuple[Status, ...] = ("passed", "passed", "failed", "skipped")
    for _ in range(300):
        outcomes = []
        for check in drawn.sample(CHECK_ORDER, 8):
            for number in drawn.sample((None, 1, 2, 3), 2):
                outcomes.append(Outcome(check, drawn.choice(statuses), "why", None, number))
        drawn_report = report(outcomes, drawn.choice(("failed", "error", "timeout")))
        found = results(REFERENCE, drawn_report)
        told = {outcome for one in found if one.status == "failed" for outcome in one.outcomes}
        assert {outcome for outcome in outcomes if outcome.status == "failed"} <= told
        assert any(one.status == "failed" for one in found)
        chosen = {one.status for one in settled(drawn.sample(found, 3), drawn_report)}
        assert "failed" in chosen or chosen == {"passed"}


# The options.


def config_of(place: Path, **options: Any) -> Any:
    """Return a configuration of pytest that answers as much as is asked."""
    given = {
        "attn_drill": ["prefix-sum=right.py"],
        "attn_drill_seed": None,
        "attn_drill_packs": [str(TINY)],
        "attn_drill_seconds": 10.0,
        "attn_drill_mib": 2048,
    }
    params = SimpleNamespace(dir=place)
    return SimpleNamespace(getoption=(given | options).get, invocation_params=params)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"attn_drill": ["right.py"]}, "--drill is 'right.py'; it must be ID=FILE"),
        ({"attn_drill": ["=right.py"]}, "--drill is '=right.py'; it must be ID=FILE"),
        ({"attn_drill": ["prefix-sum="]}, "--drill is 'prefix-sum='; it must be ID=FILE"),
        ({"attn_drill": ["prefix-sun=right.py"]}, "No challenge is called 'prefix-sun'. Did you"),
        ({"attn_drill": ["prefix-sum=none.py"]}, "There is no file {place}/none.py."),
        ({"attn_drill": ["prefix-sum=."]}, "{place} is a folder."),
        ({"attn_drill": ["prefix-sum=caf\udce9.py"]}, "'caf\\udce9.py', a path that is not UTF-8."),
        ({"attn_drill_packs": ["."]}, "--drill-pack names {place}, which is no pack"),
        ({"attn_drill_seed": -1}, "--drill-seed is -1; it must be 0 to"),
        ({"attn_drill_seed": 1 << 63}, "--drill-seed is 9223372036854775808; it must be 0 to"),
        ({"attn_drill_seconds": 0.0}, "--drill-time-limit is 0; it must be more than 0"),
        ({"attn_drill_seconds": float("nan")}, "--drill-time-limit is nan; it must be more than 0"),
        ({"attn_drill_mib": 15}, "--drill-memory-limit is 15; it must be 16 to 1048576 MiB."),
    ],
)
def test_bad_options_are_usage_errors(folder: Path, options: dict[str, Any], sentence: str) -> None:
    """The sentence has what was given and what is possible."""
    with pytest.raises(pytest.UsageError, match=re.escape(sentence.format(place=folder))):
        read_options(config_of(folder, **options))


def test_files_are_relative_to_the_folder_where_pytest_started(folder: Path) -> None:
    """The same file twice is graded once. Each run has a fresh seed."""
    files = ["prefix-sum=right.py", "prefix_sum=./sub/../right.py", "signs=right.py"]
    config = config_of(folder, attn_drill=files)
    first, second = read_options(config), read_options(config)
    assert [(drill.challenge, drill.path) for drill in first.drills] == [
        ("prefix-sum", str(folder / "right.py")),
        ("signs", str(folder / "right.py")),
    ]
    assert first.seed != second.seed
    assert first.packs[0] == str(TINY)


def test_repeating_command_names_limits_only_if_they_are_unusual(folder: Path) -> None:
    """All other options are always there."""
    (drill,) = read_options(config_of(folder)).drills
    plain = repeating_command(config_of(folder), drill, 5, ("values", "second [B, 1]"))
    start = "pytest --drill=prefix-sum=right.py"
    pack = f"--drill-pack={TINY}"
    assert plain == f"{start} --drill-seed=5 {pack} 'right.py::values::second [B, 1]'"
    both = Drill("signs", drill.path, drill.submission, ("prefix-sum", "signs"))
    config = config_of(folder, attn_drill_seconds=2.5, attn_drill_mib=64)
    limited = repeating_command(config, both, 5, ("signs", "loads"))
    limits = "--drill-time-limit=2.5 --drill-memory-limit=64"
    end = f"--drill-seed=5 {pack} {limits} right.py::signs::loads"
    assert limited == f"{start} --drill=signs=right.py {end}"


def test_old_pytest_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has both versions."""
    monkeypatch.setattr(pytest, "version_tuple", (7, 4, 4))
    with pytest.raises(pytest.UsageError, match="--drill needs pytest 8 or newer; this is"):
        drill_run.take_part(config_of(Path()))


# Runs of pytest with the fake server.


def test_without_paths_only_the_drill_runs(folder: Path) -> None:
    """The first failing test of a file shows the whole report; each says how to repeat it."""
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
    again = "pytest --drill=prefix-sum=values.py --drill-seed=77 "
    test_id = "'values.py::values::second (B, 1)'"
    assert f"the same again  {again}--drill-pack={TINY} {test_id}" in brief
    assert "--drill-seed=77" in whole
    assert "Traceback" not in ran.out
    assert "trainer/pytest_plugin" not in ran.out
    assert "[2] values.py:1: needs values\n" in ran.out
    assert f"FAILED\x1b[0m values.py::\x1b[1mvalues::first\x1b[0m - {SHOWN}" in ran.out
    assert re.search("\x1b[^m]+mFAILED\x1b[^ ]+m  prefix-sum", ran.out)  # the report's colours
    assert not any("\x1b" in text or "#x1B" in text for text in ran.texts.values())
    asked = ["started", "GradeReference right", "Grade right", "Grade values", "closed"]
    assert requests(folder) == asked


WITH_OWN_TEST = {"passed": 5, "failure": 3, "skipped": 2}
CHOICES: dict[str, tuple[list[str], dict[str, int]]] = {
    "skipped tests only": (["-k", "properties"], {"failure": 2}),
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


@pytest.mark.parametrize("choice", CHOICES)
def test_tests_are_chosen_as_other_tests(folder: Path, choice: str) -> None:
    """By words, id or path. The text of each failing test names its check."""
    args, expected = CHOICES[choice]
    (folder / "testpaths.ini").write_text("[pytest]\ntestpaths = test_own.py\n")
    ran = run(folder, "--drill", "prefix-sum=values.py", *args)
    assert (ran.code, ran.count()) == (1, expected), ran.out
    for name, text in ran.texts.items():
        if ran.results[name] == "failure":
            check = name.partition(".")[2].partition("::")[0]
            assert re.search(f"^{check}($|  case)", text, re.MULTILINE)


def test_listing_the_tests_grades_no_file(folder: Path) -> None:
    """`--collect-only` also works without xdist and the cache."""
    options = ["--co", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    ran = run(folder, "--drill", "prefix-sum=values.py", *options)
    assert ran.code == 0
    assert "values.py::runs::second (B, 1)\n" in ran.out
    assert requests(folder) == ["started", "GradeReference right", "closed"]


@pytest.mark.thorough
def test_last_failures_run_again(folder: Path) -> None:
    """`--lf` finds the tests under another seed. They fail if they cannot be looked at any more."""
    ran = run(folder, "--drill", "prefix-sum=values.py")
    assert ran.count() == {"passed": 4, "failure": 3, "skipped": 2}
    (folder / "values.py").write_text("# loads")
    assert run(folder, "--drill", "prefix-sum=values.py", "--lf").count() == {"failure": 3}
    (folder / "values.py").write_text("# right")
    options = ["--lf", "--drill-memory-limit=64"]
    ran = run(folder, "--drill", "prefix-sum=values.py", *options, MIB="64")
    assert (ran.code, ran.count()) == (0, {"passed": 3})


def test_workers_of_xdist_share_one_grading(folder: Path) -> None:
    """Only the controller asks the server. Tests and results are the same as without workers."""
    args = ["--drill", "prefix-sum=values.py", "--drill", "prefix-sum=loads.py", ".", "-v"]
    alone, shared = run(folder, *args), run(folder, *args, "-n", "2")
    asked = ["started", "GradeReference right", "Grade values", "Grade loads", "closed"]
    assert requests(folder) == asked * 2
    assert shared.results == alone.results
    assert shared.code == alone.code == 1
    seeds = set(re.findall(r"--drill-seed=(\d+)", shared.out))
    assert seeds == set(re.findall(r"drill: prefix-sum, seed (\d+)", shared.out))
    assert len(seeds) == 1
    assert shared.out.count("✗ values") == shared.out.count("✗ loads") == 1
    assert f"FAILED values.py::values::first - {SHOWN}" in shared.out
    assert shared.texts["loads::loads"].startswith("SyntaxError: `--drill-time-limit` at line 7\n")


SENTENCES = {
    "lost": "Grading lost.py ended the grading process 2 times (out of luck).",
    "refused": "This machine will not.",
    "values": "The reference of prefix-sum itself does not pass here",
}


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
    """No test fails then: the tests are in error, with a sentence, and the exit code is 3."""
    drills = [f"--drill=prefix-sum={file}.py" for file in files]
    ran = run(folder, *drills, *options, REFERENCE=reference)
    assert (ran.code, ran.count()) == (3, expected), ran.out
    assert SENTENCES[files[0] if reference == "right" else reference] in ran.out
    for words in ("Traceback", "trainer/pytest_plugin", "During handling"):
        assert words not in ran.out
    asked = requests(folder)
    assert any(request.startswith("Grade ") for request in asked) == (reference == "right")
    assert asked.count("Grade lost") == 2 * files.count("lost")
    assert asked[-1] == "closed"


@pytest.mark.thorough
def test_files_in_odd_places(folder: Path) -> None:
    """No file is imported, whatever its name is. Files outside pytest's root have unique ids."""
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
        assert requests(folder)[1:3] == ["GradeReference right"] * 2  # before any file
        (folder / "requests.txt").unlink()
        assert ran.count() == {"passed": 6 * 9 + 2 * 4 + own, "failure": 6, "skipped": 4}, ran.out
        text = ran.texts["both.signs.values::first"]
        assert "--drill=prefix-sum=both.py --drill=signs=both.py" in text
        assert "both.py::signs::values::first" in text
    assert run(folder, *drills, "odd [1]/odd.py").code == 4  # pytest's own: no [ in a path


@pytest.mark.thorough
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_report_fits_the_encoding_of_the_terminal(folder: Path, encoding: str) -> None:
    """There is no colour where pytest uses none. JUnit's file has all characters."""
    plain = {"PYTHONIOENCODING": encoding, "FORCE_COLOR": "", "NO_COLOR": "1"}
    ran = run(folder, "--drill=prefix-sum=values.py", **plain)
    assert ("✗ values" in ran.out) == (encoding == "utf-8")
    assert ("X values" in ran.out) == (encoding == "ascii")
    assert "\x1b" not in ran.out
    assert ran.out.isascii() == (encoding == "ascii")
    assert "✗ values" in ran.texts["values.values::first"]


@pytest.mark.thorough
def test_tb_line_shows_one_line(folder: Path) -> None:
    """The line has the place and the message."""
    ran = run(folder, "--drill=prefix-sum=loads.py", "--drill=prefix-sum=values.py", "--tb=line")
    assert "\nloads.py:7: SyntaxError: `--drill-time-limit` at line 7\n" in ran.out
    assert f"values.py:1: {SHOWN}" in ran.out
    assert "the same again" not in ran.out


@pytest.mark.thorough
@pytest.mark.parametrize("args", [["nothing"], ["prefix-sum=right.py", "nowhere.py"]])
def test_bad_input_is_exit_code_4(folder: Path, args: list[str]) -> None:
    """There is one sentence, and no test runs."""
    ran = run(folder, "--drill", *args)
    assert ran.code == 4
    assert len(re.findall("^ERROR: ", ran.out, re.MULTILINE)) == 1
    assert not ran.results


# Runs of pytest without anything to grade.


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """Return a PYTHONPATH with a package whose entry point is the plugin."""
    info = tmp_path / "site" / "attn_drill_named-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: attn-drill-named\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pytest11]\nattn_drill = trainer.pytest_plugin.plugin\n"
    )
    return os.pathsep.join([str(tmp_path / "site"), str(ROOT)])


TELL_MODULES = """
def pytest_unconfigure(config):
    import pathlib, sys
    names = [*sys.modules, *(name for name, _ in config.pluginmanager.list_name_plugin())]
    pathlib.Path("modules.txt").write_text("\\n".join(names))
"""


def modules(folder: Path) -> set[str]:
    """Return the modules and plugins that a run had at its end."""
    return set((folder / "modules.txt").read_text().split("\n"))


@pytest.mark.parametrize(
    ("plugin", "conftest"),
    [
        pytest.param((), "", id="installed"),
        pytest.param(PLUGIN, "", id="and by its module's name"),
        pytest.param(("-p", "attn_drill"), "", id="and by its own name"),
        pytest.param(
            (), "pytest_plugins = ['trainer.pytest_plugin.plugin']", id="and by a conftest"
        ),
    ],
)
def test_without_the_option_nothing_happens(
    tmp_path: Path, installed: str, plugin: tuple[str, ...], conftest: str
) -> None:
    """However often it is named, it imports nothing of the engine and takes no part in the run."""
    place = project(tmp_path / "project", f"{conftest}\n{TELL_MODULES}")
    ran = run(place, plugin=plugin, PYTHONPATH=installed)
    assert (ran.code, ran.count()) == (0, {"passed": 1}), ran.out
    ours = {name for name in modules(place) if name.startswith("trainer.")}
    assert ours == {"trainer.pytest_plugin", "trainer.pytest_plugin.plugin"}
    assert not modules(place) & {"torch", "numpy", "rich", "msgspec", "attn-drill-run"}


# Runs of pytest with a real server.

FORGETFUL = """import torch


def prefix_sum(x, reverse=False):
    print('here')
    return torch.cumsum(x, dim=-1)
"""
HANGING = FORGETFUL.replace("print('here')", "while reverse: pass")


def marked_path() -> tuple[str, str]:
    """Return a mark and a PYTHONPATH with it, which a grading process inherits."""
    mark = uuid.uuid4().hex
    return mark, os.pathsep.join([str(ROOT), f"/{mark}"])


def processes(mark: str) -> int:
    """Return how many processes have this in their environment; 0 if the system does not tell."""
    count = 0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            count += mark.encode() in (place / "environ").read_bytes()
        except OSError:
            continue
    return count


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """Return one run: a right answer, one wrong in one direction, a broken and an endless one."""
    place = project(tmp_path_factory.mktemp("graded") / "project", TELL_MODULES)
    (place / "good.py").write_text((TINY / "solutions" / "prefix_sum" / "solution.py").read_text())
    (place / "forgetful.py").write_text(FORGETFUL)
    (place / "broken.py").write_text("def prefix_sum(x, reverse=False)\n    return x\n")
    (place / "hanging.py").write_text(HANGING)
    names = ("good", "forgetful", "broken", "hanging")
    drills = [f"--drill=prefix-sum={name}.py" for name in names]
    mark, path = marked_path()
    ran = run(place, *drills, "--drill-seed=5", "--drill-time-limit=5", PYTHONPATH=path)
    wait_until(lambda: not processes(mark))
    return ran, place


def test_real_answers(graded: tuple[Ran, Path]) -> None:
    """The right one passes everything. The others fail where they are wrong, and only there."""
    ran, _ = graded
    assert ran.code == 1
    good = {result for name, result in ran.results.items() if name.startswith("good")}
    assert good == {"passed"}
    assert [name for name, result in ran.results.items() if result == "failure"] == [
        "forgetful.values::backwards",
        "broken::loads",
        "hanging.runs::backwards",
    ]
    assert ran.results["forgetful.gradients::forwards"] == "skipped"
    unfinished = [name for name in ran.results if name.startswith(("broken", "hanging"))]
    passed = [name for name in unfinished if ran.results[name] == "passed"]
    assert passed == ["hanging::loads"]


def test_real_texts(graded: tuple[Ran, Path]) -> None:
    """The report is that of `check`: the difference, its place, the line, and the printed text."""
    ran, _ = graded
    text = ran.texts["forgetful.values::backwards"]
    assert "FAILED  prefix-sum  7 of 11 checks passed   seed 5" in text
    assert "14 of 14 values of out differ" in text
    assert "line 6  return torch.cumsum(x, dim=-1)" in text
    assert "│ here" in text
    assert "SyntaxError: expected ':' at line 1" in ran.texts["broken::loads"]
    assert "TIME LIMIT" in ran.texts["hanging.runs::backwards"]
    assert "`--drill-time-limit` raises" in ran.texts["hanging.runs::backwards"]


def test_process_of_pytest_imports_no_torch_and_no_answer(graded: tuple[Ran, Path]) -> None:
    """Another process grades."""
    names = modules(graded[1])
    assert "trainer.pytest_plugin.drill_run" in names
    assert not names & {"torch", "numpy", "good", "forgetful", "hanging"}


@pytest.mark.thorough
def test_real_run_with_workers_has_the_same_texts(graded: tuple[Ran, Path]) -> None:
    """Under xdist, and under the same seed."""
    ran, place = graded
    options = ["--drill-seed=5", "--drill-time-limit=5", "-n", "2"]
    drills = ["--drill=prefix-sum=good.py", "--drill=prefix-sum=forgetful.py"]
    shared = run(place, *drills, *options)
    assert set(shared.results) == {name for name in ran.results if name[:4] in ("good", "forg")}
    for name, result in shared.results.items():
        assert (result, shared.texts[name]) == (ran.results[name], ran.texts[name])


@pytest.mark.thorough
def test_interrupted_run_leaves_no_process(tmp_path: Path) -> None:
    """Neither the server nor the worker in which the answer does not end."""
    place, (mark, path) = project(tmp_path / "project"), marked_path()
    (place / "hanging.py").write_text(HANGING)
    command = [sys.executable, "-m", "pytest", *PLUGIN, f"--drill-pack={TINY}", "-v"]
    with subprocess.Popen(
        [*command, "--drill=prefix-sum=hanging.py", "--drill-time-limit=600"],
        cwd=place,
        env=environment(PYTHONPATH=path),
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            begin = b""
            while b"collecting" not in begin:
                part = os.read(process.stdout.fileno(), 4096)
                assert part
                begin += part
            if Path("/proc/self/environ").exists():
                wait_until(lambda: processes(mark) >= 4)  # pytest, server, fork server, worker
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 2
    assert b"KeyboardInterrupt" in rest
    wait_until(lambda: not processes(mark))


@pytest.mark.thorough
def test_mistake_in_a_whole_challenge_is_named(tmp_path: Path) -> None:
    """The reference passes all tests. Without its mask only the tests about masks fail."""
    place = project(tmp_path / "project")
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    known = {mistake.id: mistake for mistake in mistakes.read_mistakes(challenge)}["mask-ignored"]
    (place / "gqa.py").write_text(pack_reader.solution(challenge))
    (place / "unmasked.py").write_text(
        mistakes.replaced(pack_reader.solution(challenge), known, "gqa")
    )
    ran = run(place, "--drill=gqa=gqa.py", "--drill=gqa=unmasked.py", "--drill-time-limit=60")
    assert {result for name, result in ran.results.items() if name.startswith("gqa")} == {"passed"}
    wrong = [name for name, result in ran.results.items() if result == "failure"]
    assert wrong
    checks = {name.partition("::")[0] for name in wrong}
    assert "unmasked.masks" in checks
    # Two calls on one object and memory that is not contiguous have masks too.
    assert checks <= {"unmasked.masks", "unmasked.properties", "unmasked.train/eval"}, checks
    assert known.says in ran.out
    assert ran.results["unmasked::loads"] == "passed"
