"""`pytest --drill`: which tests there are, what becomes of them, and that it leaves every other run of pytest alone."""

import os
import random
import re
import signal
import subprocess
import sys
import uuid
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trainer.content import mistakes, packs
from trainer.core.report import Outcome, Report
from trainer.core.words import CHECK_ORDER, Case, Status, Verdict
from trainer.pytest_drill import run as drill_run
from trainer.pytest_drill.due import Due, all_due, what_became
from trainer.pytest_drill.options import again, read_options

ROOT = Path(__file__).resolve().parents[1]
TINY = ROOT / "tests" / "packs" / "tiny"
PLUGIN = ("-p", "trainer.pytest_drill.plugin")

# In the place of a station. What it says of a file stands in the file's first line; every order is written down.
CONFTEST = """
import os
import trainer.classroom.stations as stations
from trainer.classroom.orders import Expect, Graded, NotGraded
from trainer.core.report import Frame, Outcome, Report
from trainer.core.words import Case

CASES = tuple(Case(name, {}, {}, {"B": 2}) for name in ("first", "second [B, 1]"))


def both(check, *statuses, message="it is \\x1b[31m3 and must be 4 …"):
    return [Outcome(check, one, message if one == "failed" else "", case.name, number) for number, (case, one) in enumerate(zip(CASES, statuses), 1)]


def right(also="passed"):
    sizes = [Outcome("bad sizes", "passed", "one is odd"), Outcome("bad sizes", also, "two is odd")]
    return [Outcome("loads", "passed"), *both("runs", "passed", "passed"), *both("values", "passed", "passed"), *both("properties", "passed", "passed"), *sizes]


def said(what):
    if what == "values":
        properties = [Outcome("properties", "skipped", "needs values")]
        return [Outcome("loads", "passed"), *both("runs", "passed", "passed"), *both("values", "failed", "failed"), *properties, *right("failed")[-2:]]
    if what == "loads":
        failed = Outcome("loads", "failed", "SyntaxError: `--time-limit` at line 7", frames=(Frame(7, "", "x ="),))
        return [failed, *(Outcome(check, "skipped", "needs loads") for check in ("runs", "values", "properties", "bad sizes"))]
    return right()


class Station:
    def __init__(self, packs):
        self.say("station")

    def say(self, what):
        with open("orders.txt", "a") as file:
            file.write(f"{what}\\n")

    def ask(self, order):
        what = os.environ.get("REFERENCE", "right") if isinstance(order, Expect) else order.source.split()[1]
        self.say(f"{type(order).__name__} {what}")
        if what == "lost":
            raise stations.StationLostError("out of luck")
        if what == "refused":
            return NotGraded("This machine will not.")
        if not isinstance(order, Expect):
            assert (order.weaker, order.diagnosed, order.seconds, order.memory_mib) == (True, True, 10.0, int(os.environ.get("MIB", "2048")))
        outcomes = said(what)
        verdict = "failed" if any(one.status == "failed" for one in outcomes) else "passed"
        return Graded(Report(order.challenge, getattr(order, "file", "it.py"), order.seed, verdict, tuple(outcomes), CASES))

    def close(self):
        self.say("closed")


stations.Station = Station
"""


@dataclass(frozen=True)
class Ran:
    """A run of pytest. `results`: what became of each test, by the names in JUnit's file; `texts`: what that says of it."""

    code: int
    out: str
    results: dict[str, str]
    texts: dict[str, str]

    def count(self) -> dict[str, int]:
        """How many tests ended in which way."""
        return dict(Counter(self.results.values()))


def environment(**more: str) -> dict[str, str]:
    """Ours, without what pytest and its workers leave there."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "ATTN_DRILL_", "COV_"))
    }
    return {**ours, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **more}


def run(folder: Path, *args: str, plugin: Sequence[str] = PLUGIN, **more: str) -> Ran:
    """Run pytest in a folder."""
    (folder / "junit.xml").unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        *plugin,
        f"--drill-pack={TINY}",
        "--junitxml=junit.xml",
        *args,
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    results, texts = {}, {}
    if (folder / "junit.xml").exists():
        for case in ET.parse(folder / "junit.xml").iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            assert name not in results, f"two tests are called {name}"
            kinds = [child for child in case if child.tag in ("failure", "error", "skipped")]
            results[name] = kinds[0].tag if kinds else "passed"
            texts[name] = f"{kinds[0].get('message')}\n{kinds[0].text}" if kinds else ""
    return Ran(done.returncode, done.stdout, results, texts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a test of its own and files that a made-up station speaks of."""
    return project(tmp_path / "project", CONFTEST)


def project(place: Path, conftest: str = "") -> Path:
    """A folder with a configuration of its own. Its files cannot be imported: whoever does so fails."""
    place.mkdir()
    (place / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (place / "conftest.py").write_text(conftest)
    (place / "test_own.py").write_text("def test_own():\n    pass\n")
    for what in ("right", "values", "loads", "lost", "refused"):
        (place / f"{what}.py").write_text(f"# {what}\nraise SystemExit\n")
    return place


def orders(folder: Path) -> list[str]:
    """What the station was asked."""
    return (
        (folder / "orders.txt").read_text().splitlines() if (folder / "orders.txt").exists() else []
    )


# Which tests there are, and what becomes of them.

WHOLE_RIGHT = [
    Outcome("loads", "passed"),
    *(
        Outcome(check, "passed", case=case, number=number)
        for check in ("runs", "values", "properties")
        for number, case in enumerate(("one", "two"), 1)
    ),
    Outcome("properties", "passed", case="two", number=2),
    Outcome("bad sizes", "passed", "odd"),
    Outcome("bad sizes", "passed", "even"),
]


def report(outcomes: Sequence[Outcome], verdict: Verdict = "failed") -> Report:
    """A report that says this."""
    return Report(
        "made-up",
        "it.py",
        1,
        verdict,
        tuple(outcomes),
        tuple(Case(name, {}, {}, {}) for name in ("one", "two")),
    )


DUE = all_due(report(WHOLE_RIGHT, "passed"))


def failed(check: str, number: int | None = None) -> Outcome:
    """A failure."""
    return Outcome(
        check,
        "failed",
        f"{check} {number} is wrong",
        None if number is None else str(number),
        number,
    )


def became(
    outcomes: Sequence[Outcome], verdict: Verdict = "failed", chosen: Sequence[Due] = DUE
) -> dict[str, str]:
    """What becomes of each test that did not pass, by its name."""
    found = zip(DUE, what_became(report(outcomes, verdict), DUE, set(chosen)), strict=True)
    return {
        f"{due.check} {due.name}".strip(): one.status
        for due, one in found
        if one.status != "passed"
    }


def test_there_is_a_test_for_every_check_and_case() -> None:
    """A case of which a check says two things is one test; what is about the whole file is named by what it says, where there are several."""
    assert [(due.check, due.name) for due in DUE] == [
        ("loads", ""),
        *((check, case) for check in ("runs", "values", "properties") for case in ("one", "two")),
        ("bad sizes", "odd"),
        ("bad sizes", "even"),
    ]


def test_names_of_tests_are_unique_and_of_one_line() -> None:
    """Whatever a pack calls its cases."""
    cases = ("a::b", "a:b", "a\n b\x1b[0m", "", "a:b [2]")
    due = all_due(
        report(
            [
                Outcome("runs", "passed", case=case, number=number)
                for number, case in enumerate(cases, 1)
            ]
        )
    )
    assert [one.name for one in due] == ["a:b", "a:b (2)", "a b", "4", "a:b (2) (2)"]


@pytest.mark.parametrize(
    ("outcomes", "verdict", "expected"),
    [
        pytest.param(WHOLE_RIGHT, "passed", {}, id="right"),
        pytest.param(
            [*WHOLE_RIGHT[:4], failed("values", 2), *WHOLE_RIGHT[5:]],
            "failed",
            {"values two": "failed"},
            id="a case",
        ),
        pytest.param(
            [*WHOLE_RIGHT[:7], failed("properties", 2), *WHOLE_RIGHT[8:]],
            "failed",
            {"properties two": "failed"},
            id="one of two things of a case",
        ),
        pytest.param(
            [*WHOLE_RIGHT[:-1], failed("bad sizes")],
            "failed",
            {"bad sizes even": "failed"},
            id="the second of two without a case",
        ),
        pytest.param(
            [*WHOLE_RIGHT[:-2], failed("bad sizes")],
            "error",
            {"bad sizes odd": "failed", "bad sizes even": "skipped"},
            id="one in the place of two",
        ),
        pytest.param(
            [failed("runs"), *WHOLE_RIGHT],
            "timeout",
            {"runs one": "failed"},
            id="no case in the place of cases",
        ),
        pytest.param(
            [failed("memory", 2), *WHOLE_RIGHT],
            "failed",
            {"loads": "failed"},
            id="a check that no test is about",
        ),
        pytest.param(
            [failed("values", 3), *WHOLE_RIGHT],
            "failed",
            {"values one": "failed"},
            id="a case that no test is about",
        ),
        pytest.param(
            WHOLE_RIGHT, "memory", {"loads": "failed"}, id="not passed, and nobody says why"
        ),
        pytest.param(
            [],
            "failed",
            {"loads": "failed"} | {f"{d.check} {d.name}": "failed" for d in DUE[1:]},
            id="nothing said",
        ),
        pytest.param(
            WHOLE_RIGHT[:-1],
            "passed",
            {"bad sizes even": "failed", "bad sizes odd": "failed"},
            id="passed, but a test is not spoken of",
        ),
        pytest.param(
            [
                *WHOLE_RIGHT[:2],
                failed("runs", 2),
                WHOLE_RIGHT[3],
                WHOLE_RIGHT[5],
                *WHOLE_RIGHT[-2:],
            ],
            "error",
            {"runs two": "failed", "values two": "skipped", "properties two": "skipped"},
            id="later checks leave the case out",
        ),
        pytest.param(
            [
                *WHOLE_RIGHT[:3],
                failed("values", 1),
                WHOLE_RIGHT[4],
                Outcome("properties", "skipped", "needs values"),
                *WHOLE_RIGHT[-2:],
            ],
            "failed",
            {"values one": "failed", "properties one": "skipped", "properties two": "skipped"},
            id="a check that was not made",
        ),
    ],
)
def test_what_becomes_of_the_tests(
    outcomes: list[Outcome], verdict: Verdict, expected: dict[str, str]
) -> None:
    """What failed fails a test, what was not looked at is skipped, and nothing else passes."""
    assert became(outcomes, verdict) == expected


def test_a_test_is_skipped_only_beside_the_one_that_fails() -> None:
    """Where the failing test is not chosen, those that need it fail, and say why."""
    outcomes = [
        failed("loads"),
        *(
            Outcome(check, "skipped", "needs loads")
            for check in ("runs", "values", "properties", "bad sizes")
        ),
    ]
    assert Counter(became(outcomes).values()) == {"failed": 1, "skipped": 8}
    assert Counter(became(outcomes, chosen=DUE[1:]).values()) == {"failed": 9}
    told = what_became(report(outcomes), DUE, set(DUE[3:5]))[3].outcomes[0]
    assert (told.check, told.case, told.message) == (
        "values",
        "one",
        "needs loads, so this was not looked at: loads failed: loads None is wrong",
    )


def test_no_report_is_lost() -> None:
    """Of three hundred reports at random: every failure is told by a failing test, and of no verdict but `passed` nothing that was not seen passes."""
    drawn = random.Random(7)
    for _ in range(300):
        statuses: tuple[Status, ...] = ("passed", "passed", "failed", "skipped")
        places = [
            (check, number)
            for check in drawn.sample(CHECK_ORDER, 8)
            for number in (None, 1, 2, 3)
            if drawn.random() < 0.5
        ]
        outcomes = [
            Outcome(check, drawn.choice(statuses), f"{check} {number}", f"{number}", number)
            for check, number in places
        ]
        verdict: Verdict = drawn.choice(("failed", "error", "timeout"))
        found = what_became(report(outcomes, verdict), DUE, set(DUE))
        told = {outcome for one in found if one.status == "failed" for outcome in one.outcomes}
        assert {outcome for outcome in outcomes if outcome.status == "failed"} <= told
        assert any(one.status == "failed" for one in found)
        chosen = set(drawn.sample(DUE, 3))
        some = [
            one.status
            for due, one in zip(
                DUE, what_became(report(outcomes, verdict), DUE, chosen), strict=True
            )
            if due in chosen
        ]
        assert "failed" in some or "skipped" not in some


# The options.


def config_of(place: Path, **options: Any) -> Any:
    """What is asked of pytest's configuration."""
    given = {
        "attn_drill": ["prefix-sum=right.py"],
        "attn_drill_seed": None,
        "attn_drill_packs": [str(TINY)],
        "attn_drill_seconds": 10.0,
        "attn_drill_mib": 2048,
    }
    return SimpleNamespace(
        getoption=(given | options).get, invocation_params=SimpleNamespace(dir=place)
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"attn_drill": ["right.py"]}, "--drill is 'right.py'; it must be ID=FILE"),
        ({"attn_drill": ["=right.py"]}, "--drill is '=right.py'; it must be ID=FILE"),
        ({"attn_drill": ["prefix-sum="]}, "--drill is 'prefix-sum='; it must be ID=FILE"),
        (
            {"attn_drill": ["prefix-sun=right.py"]},
            "No challenge is called 'prefix-sun'. Did you mean prefix-sum",
        ),
        ({"attn_drill": ["prefix-sum=none.py"]}, "There is no file {place}/none.py."),
        ({"attn_drill": ["prefix-sum=."]}, "{place} is a folder."),
        ({"attn_drill": ["prefix-sum=caf\udce9.py"]}, "a place that is not written in UTF-8"),
        ({"attn_drill_packs": ["."]}, "--drill-pack is ., which is no pack"),
        ({"attn_drill_seed": -1}, "--drill-seed is -1; it must be 0 to"),
        ({"attn_drill_seed": 1 << 63}, "--drill-seed is 9223372036854775808; it must be 0 to"),
        ({"attn_drill_seconds": 0.0}, "--drill-time-limit is 0; it must be more than 0"),
        ({"attn_drill_seconds": float("nan")}, "--drill-time-limit is nan; it must be more than 0"),
        ({"attn_drill_mib": 15}, "--drill-memory-limit is 15; it must be 16 to 1048576 MiB."),
    ],
)
def test_bad_options_are_a_usage_error(
    folder: Path, options: dict[str, Any], sentence: str
) -> None:
    """One sentence with what was given and what may be."""
    with pytest.raises(pytest.UsageError, match=re.escape(sentence.format(place=folder))):
        read_options(config_of(folder, **options))


def test_files_are_meant_from_where_pytest_was_started(folder: Path) -> None:
    """Wherever the process is now; the same file twice is one, and a fresh seed is another one every time."""
    config = config_of(
        folder, attn_drill=["prefix-sum=right.py", "prefix_sum=./sub/../right.py", "signs=right.py"]
    )
    first, second = read_options(config), read_options(config)
    assert [(one.challenge.id, one.path) for one in first.wanted] == [
        ("prefix-sum", folder / "right.py"),
        ("signs", folder / "right.py"),
    ]
    assert first.seed != second.seed
    assert first.packs[0] == str(TINY)


def test_the_command_for_once_more_has_all_that_matters(folder: Path) -> None:
    """Limits only where they are not the usual ones."""
    plain = again(config_of(folder), "it.py", ["prefix-sum"], 5, ("values", "second [B, 1]"))
    assert (
        plain
        == f"pytest --drill=prefix-sum=it.py --drill-seed=5 --drill-pack={TINY} 'it.py::values::second [B, 1]'"
    )
    limited = again(
        config_of(folder, attn_drill_seconds=2.5, attn_drill_mib=64),
        "it.py",
        ["prefix-sum", "signs"],
        5,
        ("signs", "loads"),
    )
    assert limited.startswith("pytest --drill=prefix-sum=it.py --drill=signs=it.py --drill-seed=5")
    assert "--drill-time-limit=2.5 --drill-memory-limit=64 it.py::signs::loads" in limited


def test_an_old_pytest_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sentence, and only where there is something to grade."""
    monkeypatch.setattr(pytest, "version_tuple", (7, 4, 4))
    with pytest.raises(pytest.UsageError, match="--drill needs pytest 8 or newer; this is"):
        drill_run.take_part(config_of(Path()))


# Runs of pytest, with a made-up station.


def test_only_the_drill_runs_where_nothing_else_is_named(folder: Path) -> None:
    """Every failure of a file fails a test; the first one shows the whole report, and every one says how to get the same again."""
    ran = run(
        folder,
        "--drill",
        "prefix-sum=right.py",
        "--drill",
        "prefix-sum=values.py",
        "--drill-seed=77",
        "--color=yes",
        "-rfs",
    )
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
    assert "3 of 5 checks" not in brief
    assert "✗ values" in whole
    assert "✗ values" not in brief
    assert "values  case 2: second [B, 1]\n  it is 3 and must be 4 …\n  sizes  B=2\n" in brief
    assert brief.startswith("it is 3 and must be 4 …\n")
    assert (
        f"the same again  pytest --drill=prefix-sum=values.py --drill-seed=77 --drill-pack={TINY} 'values.py::values::second (B, 1)'"
        in brief
    )
    assert "--drill-seed=77" in whole
    assert "Traceback" not in ran.out
    assert "trainer/pytest_drill" not in ran.out
    assert "[2] values.py:1: needs values\n" in ran.out
    assert "\x1b[" in ran.out
    assert not any("\x1b" in text or "#x1B" in text for text in ran.texts.values())
    assert "FAILED\x1b[0m values.py::\x1b[1mvalues::first\x1b[0m - it is 3 and must be 4" in ran.out
    assert orders(folder) == ["station", "Expect right", "Task right", "Task values", "closed"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(["-k", "properties"], {"failure": 2}, id="the failing ones are not chosen"),
        pytest.param(
            ["-k", "second and not bad or properties"],
            {"failure": 1, "passed": 1, "skipped": 2},
            id="chosen by words",
        ),
        pytest.param(["-x"], {"passed": 3, "failure": 1}, id="stop at the first"),
        pytest.param(["values.py::values::second (B, 1)"], {"failure": 1}, id="a test by its id"),
        pytest.param(["values.py::bad sizes"], {"passed": 1, "failure": 1}, id="a check by its id"),
        pytest.param(
            ["test_own.py"], {"passed": 5, "failure": 3, "skipped": 2}, id="other tests too"
        ),
        pytest.param(
            ["."], {"passed": 5, "failure": 3, "skipped": 2}, id="the folder that the file is in"
        ),
        pytest.param(
            ["-c", "testpaths.ini"], {"passed": 5, "failure": 3, "skipped": 2}, id="testpaths"
        ),
    ],
)
def test_tests_are_chosen_as_ever(folder: Path, args: list[str], expected: dict[str, int]) -> None:
    """By words, by id, by path; what is not chosen is not run."""
    (folder / "testpaths.ini").write_text("[pytest]\ntestpaths = test_own.py\n")
    ran = run(folder, "--drill", "prefix-sum=values.py", *args)
    assert ran.count() == expected, ran.out
    assert ran.code == 1
    wrong = {
        name.partition(".")[2].partition("::")[0]: text
        for name, text in ran.texts.items()
        if text and ran.results[name] == "failure"
    }
    assert all(
        re.search(f"^{check}($|  case)", text, re.MULTILINE) for check, text in wrong.items()
    )


def test_collecting_grades_nothing(folder: Path) -> None:
    """`--co` asks for the list of tests alone, also without xdist and the cache. Ids are those of pytest: the file first."""
    ran = run(
        folder,
        "--drill",
        "prefix-sum=values.py",
        "--co",
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
    )
    assert ran.code == 0
    assert "values.py::runs::second (B, 1)\n" in ran.out
    assert orders(folder) == ["station", "Expect right", "closed"]


def test_the_last_failures_run_again(folder: Path) -> None:
    """`--lf` knows the tests under another seed; where they can no longer be looked at, they fail."""
    assert run(folder, "--drill", "prefix-sum=values.py").count() == {
        "passed": 4,
        "failure": 3,
        "skipped": 2,
    }
    (folder / "values.py").write_text("# loads")
    assert run(folder, "--drill", "prefix-sum=values.py", "--lf").count() == {"failure": 3}
    (folder / "values.py").write_text("# right")
    ran = run(
        folder, "--drill", "prefix-sum=values.py", "--lf", "--drill-memory-limit=64", MIB="64"
    )
    assert (ran.code, ran.count()) == (0, {"passed": 3})


def test_workers_tell_of_one_grading(folder: Path) -> None:
    """Under xdist the controller alone asks, once; the tests and what becomes of them are the same, and one of them shows the whole report."""
    args = ["--drill", "prefix-sum=values.py", "--drill", "prefix-sum=loads.py", ".", "-v"]
    alone, shared = run(folder, *args), run(folder, *args, "-n", "2")
    half = ["station", "Expect right", "Task values", "Task loads", "closed"]
    assert sorted(orders(folder)) == sorted(half * 2)
    assert shared.results == alone.results
    assert shared.code == alone.code == 1
    seeds = set(re.findall(r"--drill-seed=(\d+)", shared.out))
    assert seeds == set(re.findall(r"drill: prefix-sum, seed (\d+)", shared.out))
    assert len(seeds) == 1
    assert shared.out.count("✗ values") == shared.out.count("✗ loads") == 1
    assert "FAILED values.py::values::first - it is 3 and must be 4" in shared.out
    assert shared.texts["loads::loads"].startswith("SyntaxError: `--drill-time-limit` at line 7\n")


@pytest.mark.parametrize(
    ("files", "reference", "expected", "sentence"),
    [
        pytest.param(
            ["lost", "right"],
            "right",
            {"error": 9, "passed": 9},
            "Grading lost.py ended the grading process 2 times (out of luck).",
            id="lost",
        ),
        pytest.param(["refused"], "right", {"error": 9}, "This machine will not.", id="refused"),
        pytest.param(["right"], "refused", {"error": 1}, "This machine will not.", id="no tests"),
        pytest.param(
            ["right"],
            "values",
            {"error": 1},
            "The reference of prefix-sum itself does not pass here",
            id="reference",
        ),
    ],
)
def test_a_fault_of_the_grader_is_no_failure(
    folder: Path, files: list[str], reference: str, expected: dict[str, int], sentence: str
) -> None:
    """No test has failed then: they are in error, in a sentence, and the exit code is that of a run that broke."""
    for how in ((), ("-n", "2"))[
        : 2 if files[0] == "lost" or reference == "refused" else 1
    ]:  # workers take their time
        ran = run(
            folder, *(f"--drill=prefix-sum={file}.py" for file in files), *how, REFERENCE=reference
        )
        assert (ran.code, ran.count()) == (3, expected), ran.out
        assert sentence in ran.out
        assert not any(
            words in ran.out for words in ("Traceback", "trainer/pytest_drill", "During handling")
        )
        asked = orders(folder)
        assert any("Task" in order for order in asked) == (reference == "right")
        assert asked.count("Task lost") == 2 * (files[0] == "lost")
        assert asked[-1] == "closed"
        (folder / "orders.txt").unlink()


def test_files_in_odd_places(folder: Path) -> None:
    """No file is imported, whatever its name says; what lies where pytest does not look, or outside its root, is graded too, and ids are unique."""
    (folder / "build").mkdir()
    (folder / "odd [1]").mkdir()
    places = [
        "test_right.py",
        "build/deep.py",
        "odd [1]/odd.py",
        "right.txt",
        "../outside.py",
        "../other.py",
    ]
    for place in places:
        (folder / place).write_text("# right\nraise SystemExit\n")
    (folder / "both.py").write_text("# values\nraise SystemExit\n")
    drills = [f"--drill=prefix-sum={place}" for place in [*places, "both.py"]]
    for paths in ((), ("test_own.py", "build", "--doctest-modules")):
        ran = run(folder, *drills, "--drill=signs=both.py", *paths)
        own = 1 if paths else 0
        assert ran.count() == {"passed": 6 * 9 + 2 * 4 + own, "failure": 6, "skipped": 4}, ran.out
    assert "both.signs.values::first" in ran.results
    assert (
        "--drill=prefix-sum=both.py --drill=signs=both.py" in ran.texts["both.signs.values::first"]
    )
    assert run(folder, *drills, "odd [1]/odd.py").code == 4  # pytest's own: a path may hold no [


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_terminal_without_unicode(folder: Path, encoding: str) -> None:
    """What it cannot show is written in other characters; no colour is used where pytest uses none."""
    ran = run(
        folder,
        "--drill=prefix-sum=values.py",
        PYTHONIOENCODING=encoding,
        FORCE_COLOR="",
        NO_COLOR="1",
    )
    assert ("✗ values" in ran.out) == (encoding == "utf-8")
    assert ("X values" in ran.out) == (encoding == "ascii")
    assert "\x1b" not in ran.out
    assert ran.out.isascii() == (encoding == "ascii")
    assert "✗ values" in ran.texts["values.values::first"]


def test_one_line_where_one_is_asked_for(folder: Path) -> None:
    """`--tb=line` shows the place and the message."""
    ran = run(folder, "--drill=prefix-sum=loads.py", "--drill=prefix-sum=values.py", "--tb=line")
    assert "\nloads.py:7: SyntaxError: `--drill-time-limit` at line 7\n" in ran.out
    assert "values.py:1: it is 3 and must be 4" in ran.out
    assert "the same again" not in ran.out


@pytest.mark.parametrize(
    "args",
    [
        ["--drill", "nothing"],
        ["--drill", "prefix-sum=none.py"],
        ["--drill", "prefix-sum=right.py", "nowhere.py"],
    ],
)
def test_bad_input_is_exit_code_4(folder: Path, args: list[str]) -> None:
    """As any wrong argument of pytest."""
    ran = run(folder, *args)
    assert ran.code == 4
    assert len(re.findall("^ERROR: ", ran.out, re.MULTILINE)) == 1
    assert not ran.results


# Runs of pytest without anything to grade.


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """A folder in which a package stands that names the plugin."""
    info = tmp_path / "site" / "attn_drill_named-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: attn-drill-named\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pytest11]\nattn_drill = trainer.pytest_drill.plugin\n")
    return os.pathsep.join([str(tmp_path / "site"), str(ROOT)])


@pytest.mark.parametrize(
    ("plugin", "conftest"),
    [
        pytest.param((), "", id="installed"),
        pytest.param(PLUGIN, "", id="and by its module's name"),
        pytest.param(("-p", "attn_drill"), "", id="and by its own"),
        pytest.param(
            (), "pytest_plugins = ['trainer.pytest_drill.plugin']", id="and by a conftest"
        ),
    ],
)
def test_without_the_option_it_does_nothing(
    tmp_path: Path, installed: str, plugin: tuple[str, ...], conftest: str
) -> None:
    """However often it is named: it imports nothing of the engine, takes no part in the run, and the other tests run."""
    tell = "\n\ndef pytest_unconfigure(config):\n    import pathlib, sys\n    names = [*sys.modules, *(name for name, _ in config.pluginmanager.list_name_plugin())]\n"
    place = project(
        tmp_path / "project",
        f"{conftest}{tell}    pathlib.Path('modules.txt').write_text('\\n'.join(names))\n",
    )
    ran = run(place, plugin=plugin, PYTHONPATH=installed)
    assert (ran.code, ran.count()) == (0, {"passed": 1}), ran.out
    modules = set((place / "modules.txt").read_text().split("\n"))
    assert "trainer.pytest_drill.plugin" in modules
    assert {name for name in modules if name.startswith("trainer.")} == {
        "trainer.pytest_drill",
        "trainer.pytest_drill.plugin",
    }
    assert not modules & {"torch", "numpy", "rich", "msgspec", "attn-drill-run"}


# Runs of pytest with a real station.

FORGETFUL = "import torch\n\n\ndef prefix_sum(x, reverse=False):\n    print('here')\n    return torch.cumsum(x, dim=-1)\n"
HANGING = "import torch\n\n\ndef prefix_sum(x, reverse=False):\n    while reverse:\n        pass\n    return torch.cumsum(x, dim=-1)\n"
TELL = "def pytest_unconfigure(config):\n    import pathlib, sys\n    pathlib.Path('modules.txt').write_text('\\n'.join(sys.modules))\n"


def processes(mark: str) -> list[str]:
    """The command lines of all processes that have this in their environment; none where the system does not tell."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def until(true: Callable[[], object]) -> None:
    """Wait for something; a minute is more than it ever takes."""
    import time

    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """One run on a right answer, one that forgets to turn round, one that does not load and one that does not end."""
    place = project(tmp_path_factory.mktemp("graded") / "project", TELL)
    (place / "good.py").write_text((TINY / "solutions" / "prefix_sum" / "solution.py").read_text())
    (place / "forgetful.py").write_text(FORGETFUL)
    (place / "broken.py").write_text("def prefix_sum(x, reverse=False)\n    return x\n")
    (place / "hanging.py").write_text(HANGING)
    mark = uuid.uuid4().hex
    drills = [
        f"--drill=prefix-sum={name}.py" for name in ("good", "forgetful", "broken", "hanging")
    ]
    ran = run(place, *drills, "--drill-seed=5", "--drill-time-limit=5", MARK=mark)
    until(lambda: not processes(mark))  # nobody is left
    return ran, place


def test_real_answers(graded: tuple[Ran, Path]) -> None:
    """The right one passes all, a wrong one fails where it is wrong, and one that does not load or end passes nothing that needs it."""
    ran, _ = graded
    assert ran.code == 1
    by_file = {
        name: {
            key.partition(".")[2]: value
            for key, value in ran.results.items()
            if key.startswith(name)
        }
        for name in ("good", "forgetful")
    }
    assert set(by_file["good"].values()) == {"passed"}
    assert {key for key, value in by_file["forgetful"].items() if value == "failure"} == {
        "values::backwards"
    }
    assert by_file["forgetful"]["gradients::forwards"] == "skipped"
    assert [key for key, value in ran.results.items() if value == "failure"] == [
        "forgetful.values::backwards",
        "broken::loads",
        "hanging.runs::backwards",
    ]
    of_broken = [key for key in ran.results if key.startswith(("broken", "hanging"))]
    assert [key for key in of_broken if ran.results[key] == "passed"] == ["hanging::loads"]


def test_real_words(graded: tuple[Ran, Path]) -> None:
    """The report is that of `check`: what differs, where, the line, and what was printed."""
    ran, _ = graded
    told = ran.texts["forgetful.values::backwards"]
    assert "FAILED  prefix-sum  7 of 11 checks passed   seed 5" in told
    assert "14 of 14 values of out differ" in told
    assert "line 6  return torch.cumsum(x, dim=-1)" in told
    assert "│ here" in told
    assert "SyntaxError: expected ':' at line 1" in ran.texts["broken::loads"]
    assert "TIME LIMIT" in ran.texts["hanging.runs::backwards"]
    assert "`--drill-time-limit` raises it" in ran.texts["hanging.runs::backwards"]


def test_the_process_of_pytest_imports_no_torch_and_no_answer(graded: tuple[Ran, Path]) -> None:
    """The grading is done elsewhere."""
    modules = set((graded[1] / "modules.txt").read_text().split("\n"))
    assert "trainer.pytest_drill.run" in modules
    assert not modules & {"torch", "numpy", "good", "forgetful", "hanging"}


def test_real_workers(graded: tuple[Ran, Path]) -> None:
    """With two workers and the same seed it is the same."""
    ran, place = graded
    shared = run(
        place,
        "--drill=prefix-sum=good.py",
        "--drill=prefix-sum=forgetful.py",
        "--drill-seed=5",
        "-n",
        "2",
    )
    assert shared.results == {
        name: result
        for name, result in ran.results.items()
        if name.startswith(("good", "forgetful"))
    }
    assert shared.texts["forgetful.values::backwards"].replace(
        " --drill-time-limit=5", ""
    ) == ran.texts["forgetful.values::backwards"].replace(" --drill-time-limit=5", "")


def test_an_interrupted_run_leaves_nobody_behind(tmp_path: Path) -> None:
    """Neither the grading process nor the worker in which the answer does not end."""
    place, mark = project(tmp_path / "project"), uuid.uuid4().hex
    (place / "hanging.py").write_text(HANGING)
    command = [
        sys.executable,
        "-m",
        "pytest",
        *PLUGIN,
        f"--drill-pack={TINY}",
        "--drill=prefix-sum=hanging.py",
        "--drill-time-limit=600",
        "-v",
    ]
    with subprocess.Popen(
        command, cwd=place, env=environment(MARK=mark), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while not (line := process.stdout.readline()).startswith("collecting"):
            assert line
        if Path("/proc/self/environ").exists():
            until(lambda: len(processes(mark)) >= 4)  # pytest, station, zygote, worker
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 2
    assert "KeyboardInterrupt" in rest
    until(lambda: not processes(mark))


def test_a_whole_challenge(tmp_path: Path) -> None:
    """The reference of one passes every test; without its mask it fails what is about masks, and the likely mistake is named."""
    place = project(tmp_path / "project")
    challenge = packs.find_challenge(packs.built_in_pack(), "gqa")
    known = next(one for one in mistakes.read_mistakes(challenge) if one.id == "mask-ignored")
    (place / "gqa.py").write_text(packs.solution(challenge))
    (place / "unmasked.py").write_text(mistakes.replaced(packs.solution(challenge), known, "gqa"))
    ran = run(place, "--drill=gqa=gqa.py", "--drill=gqa=unmasked.py", "--drill-time-limit=60")
    assert {result for name, result in ran.results.items() if name.startswith("gqa")} == {"passed"}
    wrong = [name for name, result in ran.results.items() if result == "failure"]
    assert wrong
    assert all(name.startswith(("unmasked.values::", "unmasked.masks::")) for name in wrong)
    assert known.says in ran.out
    assert ran.results["unmasked::loads"] == "passed"
