"""`attn-drill grade` as a teacher types it: layouts, outputs, killed and resumed, interrupted, a full disk, a cluster."""

import contextlib
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.classroom import answered, plan, soon, submission
from tests.support.paths import TINY_PACK
from trainer.classroom import executors
from trainer.classroom.grading_jobs import (
    jobs_of,
)
from trainer.classroom.result_store import (
    ResultStore,
)
from trainer.cli.grade import _grade_all, _deferred_interrupts
from trainer.packs import pack_reader
from trainer.sandbox.isolation import descendants


def test_an_interrupt_waits_for_a_moment_in_which_nothing_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a job is handed over: that is finished, what hangs is not waited for, and the signal is Python's own again."""
    handed_over: list[Future[bytes]] = []

    class Slow:
        def submit(self, function: object, *arguments: object) -> Future[bytes]:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)  # Python gets the signal in here
            handed_over.append(Future())
            return handed_over[-1]

    monkeypatch.setattr(executors, "executor_for", lambda where, jobs: nullcontext((Slow(), 1)))
    usual = signal.getsignal(signal.SIGINT)
    class_ = jobs_of(plan(), [submission("ana"), submission("ben")])
    assert _grade_all(
        plan(), class_, ResultStore(tmp_path, ["prefix-sum"]), "local", 1, resume=False
    )
    assert [one.cancelled() for one in handed_over] == [True]
    assert signal.getsignal(signal.SIGINT) is usual


def test_an_interrupt_during_the_last_submission_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its result is written, and the command ends all the same."""

    class Last:
        def submit(self, function: object, *arguments: object) -> Future[bytes]:
            done: Future[bytes] = Future()
            done.set_result(answered("no grader"))
            signal.raise_signal(signal.SIGINT)
            return done

    monkeypatch.setattr(executors, "executor_for", lambda where, jobs: nullcontext((Last(), 1)))
    kept = ResultStore(tmp_path, ["prefix-sum"])
    assert _grade_all(plan(), jobs_of(plan(), [submission("ana")]), kept, "local", 1, resume=False)
    assert kept.read("ana", "prefix-sum") is not None


def test_a_second_interrupt_is_raised_at_once() -> None:
    """Whatever is under way: somebody presses Ctrl-C again because nothing has happened."""
    with _deferred_interrupts() as interrupted:
        os.kill(os.getpid(), signal.SIGINT)
        assert soon(interrupted)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


TINY = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


RIGHT = pack_reader.solution(TINY)


WRONG = "import torch\ndef prefix_sum(x, reverse=False):\n    return x.cumsum(-1) * 2\n"


UNUSED = """
def scaled(values, times=3):
    total = 0.5
    for index, value in enumerate(values):
        if index % times == 1 and value > 7:
            total += value ** 2 / (index + 1) - times
        else:
            total = total * 0.25 if value < -2 else total // 11
    while len(values) >= 13 * times:
        values = values[2::times] + [total] * 17
    return {"total": total, "mean": [value / 19 for value in values]}
"""  # enough to be compared


SLOW = "import time\n" + RIGHT.replace("def prefix_sum", "time.sleep(0.05)\n\n\ndef prefix_sum", 1)


HANGS = "while True: pass\n"


ODD_NAMES = [
    "Ana López",
    "O'Brien",
    'quo"te',
    "漢字 😀",
    "new\nline",
    "=cmd|' calc'",
    "-1+2",
    "x..",
    "tab\tname",
    "\u202egnp",
    " ana",
    "n" * 200,
]


def environment(**more: str) -> dict[str, str]:
    """The test's own home, and this checkout."""
    return {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), **more}


def command(*arguments: object) -> list[str]:
    """Return the command line. One process grades by default, because each takes seconds to start."""
    jobs = () if {"--jobs", "--executor"} & set(arguments) else ("--jobs", "1")
    return [
        sys.executable,
        "-m",
        "trainer",
        "--pack",
        str(TINY_PACK),
        "grade",
        *map(str, (*arguments, *jobs)),
    ]


def grade(
    *arguments: object, code: int = 0, cwd: Path, **more: str
) -> "subprocess.CompletedProcess[str]":
    """Grade a class to its end."""
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def results(out: Path) -> dict[str, dict[str, object]]:
    """Every result by its student."""
    found = [json.loads(path.read_text()) for path in (out / "results").rglob("*.json")]
    assert len({one["student"] for one in found}) == len(found)
    return {one["student"]: one for one in found}


def told(out: Path) -> dict[str, object]:
    """Results without what no two runs share: how long it took."""
    return {
        name: {key: value for key, value in one.items() if key != "elapsed_seconds"}
        for name, one in results(out).items()
    }


@pytest.fixture(scope="module")
def graded_class(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Path, Path, "subprocess.CompletedProcess[str]"]]:
    """A class of all sorts, graded once with every output."""
    folder = tmp_path_factory.mktemp("class")
    class_ = folder / "class"
    class_.mkdir()
    for name in ODD_NAMES:
        (class_ / f"{name}.py").write_text(RIGHT)
    (class_ / "wrong.py").write_text(WRONG + UNUSED)
    (class_ / "hangs.py").write_text(HANGS)
    (class_ / "dies.py").write_text("import os; os._exit(0)\n")
    (class_ / "floods.py").write_text("while True: print('x' * 1000)\n")
    (class_ / "empty.py").write_text("")
    (class_ / "binary.py").write_bytes(b"\x00\xff\xfe")
    (class_ / "twice.py").write_text(RIGHT)
    (class_ / "twice").mkdir()
    (class_ / "twice" / "prefix_sum.py").write_text(WRONG)
    (class_ / "nothing").mkdir()
    (class_ / "nothing" / "notes.txt").write_text("x")
    (class_ / "notes.pdf").write_bytes(b"%PDF")
    (class_ / "copy_of_wrong.py").write_text(WRONG + UNUSED.replace("times", "factor"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_DRILL_HOME", str(folder / "home"))
        arguments = [
            "class",
            "--challenge",
            "prefix-sum",
            "--out",
            "out",
            "--format",
            "csv,html,junit,gradescope,github",
            "--time-limit",
            "2",
            "--similar",
            "--jobs",
            "2",
        ]
        yield class_, folder / "out", grade(*arguments, cwd=folder)


def test_everybody_has_a_result(
    graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"],
) -> None:
    """Whatever they are called and whatever they handed in: each their own verdict."""
    _, out, _ = graded_class
    verdicts = {name: one["verdict"] for name, one in results(out).items()}
    expected: dict[str, object] = {
        **dict.fromkeys(ODD_NAMES, "passed"),
        "wrong": "failed",
        "copy_of_wrong": "failed",
        "hangs": "timeout",
        "dies": "error",
    }
    expected |= {
        "floods": "timeout",
        "empty": "error",
        "binary": "error",
        "twice": None,
        "nothing": "error",
    }
    assert verdicts == expected


def test_one_seed_for_the_class(
    graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"],
) -> None:
    """All have the same cases, and it is the one that is kept for --resume."""
    _, out, _ = graded_class
    assert {one["seed"] for one in results(out).values()} - {None} == {
        json.loads((out / "class.json").read_text())["seed"]
    }


def test_the_summary(graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"]) -> None:
    """Counts and places on stdout, what was left out and progress on stderr."""
    _, _, done = graded_class
    assert "21 results: 12 passed, 2 failed, 4 error, 2 time limit, 1 not graded" in done.stdout
    assert "out/report.html" in done.stdout
    assert "notes.pdf" in done.stderr
    assert "21 of 21 graded" in done.stderr


def test_two_submissions_of_one_name_are_for_a_person_to_settle(
    graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"],
) -> None:
    """Both files are named on the console, in the table and in the report; no name is invented and no points are given."""
    _, out, done = graded_class
    says = "2 submissions have the name twice: twice.py, twice/prefix_sum.py. None of them is graded. Remove or rename all but one"
    assert done.stderr.count(says) == 1
    assert (
        "1 to settle: more than one submission of one name\n  twice: twice.py, twice/prefix_sum.py\n"
        in done.stdout
    )
    assert says in (out / "report.html").read_text()
    assert not any(
        "twice (2)" in path.read_text()
        for path in (out / "grades.csv", out / "report.html", out / "junit.xml")
    )
    with (out / "grades.csv").open(newline="", encoding="utf-8") as file:
        (row,) = [row for row in csv.DictReader(file) if row["student"] == "twice"]
    assert (row["verdict"], row["score"]) == ("not graded", "")
    assert row["likely_mistake"].startswith(says)
    assert "score" not in json.loads((out / "gradescope" / "twice" / "results.json").read_text())
    assert json.loads((out / "github" / "twice.json").read_text())["max_score"] == 0
    (suite,) = [
        suite
        for suite in ET.parse(out / "junit.xml").getroot()
        if suite.get("name") == "twice: prefix-sum"
    ]
    assert suite.get("errors") == "1"


def test_the_table(graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"]) -> None:
    """A row each with the columns of the contract; nothing that a spreadsheet would take for a formula."""
    _, out, _ = graded_class
    with (out / "grades.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert list(
        rows[0]
    ) == "student,challenge,verdict,score,checks_passed,checks_total,likely_mistake,seconds".split(
        ","
    )
    assert len(rows) == 21
    assert not any(
        cell.lstrip().startswith(("=", "+", "-", "@")) for row in rows for cell in row.values()
    )
    by_name = {row["student"]: row for row in rows}
    assert (by_name["Ana López"]["score"], by_name["empty"]["score"]) == ("100", "0")


def test_the_other_outputs(
    graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"],
) -> None:
    """One file each that can be read, with everybody in it."""
    _, out, _ = graded_class
    assert len(ET.parse(out / "junit.xml").getroot().findall("testsuite")) == 21
    assert len(list((out / "gradescope").glob("*/results.json"))) == 21
    assert json.loads((out / "github" / "wrong.json").read_text())["version"] == 1
    html = (out / "report.html").read_text()
    assert "Ana López" in html
    assert "http" not in re.sub(r"http-equiv", "", html)


def test_similar(graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"]) -> None:
    """The pair is in the file and on stdout, after the hint; short answers are not reported."""
    _, out, done = graded_class
    (row,) = csv.DictReader((out / "similar.csv").read_text().splitlines())
    assert (row["student"], row["other"], row["share"]) == ("copy_of_wrong", "wrong", "1.00")
    assert "This is a hint where to look, no verdict" in done.stdout
    assert "copy_of_wrong and wrong: 100% of the smaller file's own code" in done.stdout
    assert "out/similar.csv" in done.stdout


def test_similar_without_its_package(tmp_path: Path) -> None:
    """One sentence says how to install it, before anything is read or written."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "copydetect.py").write_text("raise ImportError('not installed')")
    found = os.pathsep.join((str(tmp_path / "hidden"), str(pack_reader.TRAINER.parent)))
    base = ["nowhere", "--challenge", "prefix-sum", "--similar"]
    done = grade(*base, code=2, cwd=tmp_path, PYTHONPATH=found)
    assert "pip install 'attn-drill[similar]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "grades").exists()


def test_nothing_is_written_over_an_earlier_grading(
    graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"],
) -> None:
    """Without --resume it is refused, with another challenge or seed too; with it, nothing is graded again."""
    class_, out, _ = graded_class
    before = {path: path.stat().st_mtime_ns for path in (out / "results").glob("*.json")}
    base = [class_.name, "--challenge", "prefix-sum", "--out", out.name, "--time-limit", "2"]
    assert "--resume goes on with it" in grade(*base, code=2, cwd=out.parent).stderr
    seed = json.loads((out / "class.json").read_text())["seed"]
    assert (
        f"the seed: {seed}; now it is {seed + 1}"
        in grade(*base, "--resume", "--seed", seed + 1, code=2, cwd=out.parent).stderr
    )
    assert (
        "challenges: prefix-sum; now it is signs"
        in grade(
            class_.name,
            "--challenge",
            "signs",
            "--out",
            out.name,
            "--resume",
            code=2,
            cwd=out.parent,
        ).stderr
    )
    assert "All 21 have their results already" in grade(*base, "--resume", cwd=out.parent).stderr
    assert {path: path.stat().st_mtime_ns for path in (out / "results").glob("*.json")} == before


def test_what_changed_is_graded_again(
    tmp_path: Path, graded_class: tuple[Path, Path, "subprocess.CompletedProcess[str]"]
) -> None:
    """--resume grades the one that was handed in anew and the one that is new, and leaves out who is gone."""
    class_, out, _ = graded_class
    shutil.copytree(class_, tmp_path / "class")
    shutil.copytree(out, tmp_path / "out")
    before = {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / "results").glob("*.json")
    }
    (tmp_path / "class" / "wrong.py").write_text(RIGHT)
    (tmp_path / "class" / "late.py").write_text(WRONG)
    (tmp_path / "class" / "dies.py").unlink()
    done = grade(
        "class",
        "--challenge",
        "prefix-sum",
        "--out",
        "out",
        "--resume",
        "--time-limit",
        "2",
        cwd=tmp_path,
    )
    assert "21 results" in done.stdout
    after = {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / "results").glob("*.json")
    }
    assert {name for name in after if after[name] != before.get(name)} == {
        "wrong.json",
        "late.json",
    }
    assert results(tmp_path / "out")["wrong"]["verdict"] == "passed"
    assert "\ndies," not in (tmp_path / "out" / "grades.csv").read_text()


def test_a_settled_name_is_graded(tmp_path: Path) -> None:
    """--resume grades the file that is left, and nothing else; a second file that comes later takes the result back."""
    (class_ := tmp_path / "class").mkdir()
    (class_ / "Bob").mkdir()
    (class_ / "ana.py").write_text(RIGHT)
    (class_ / "bob.py").write_text(WRONG)
    (class_ / "Bob" / "prefix_sum.py").write_text(RIGHT)
    base = ["class", "--challenge", "prefix-sum", "--out", "out", "--format", "csv,gradescope"]
    first = grade(*base, cwd=tmp_path)
    assert {name: one["verdict"] for name, one in results(tmp_path / "out").items()} == {
        "ana": "passed",
        "Bob": None,
    }
    again = grade(*base, "--resume", cwd=tmp_path)
    assert "All 2 have their results already" in again.stderr
    for done in (first, again):
        assert "2 submissions have the name Bob: Bob/prefix_sum.py, bob.py." in done.stderr
        assert "  Bob: Bob/prefix_sum.py, bob.py\n" in done.stdout
    (class_ / "bob.py").rename(tmp_path / "taken_out.py")
    done = grade(*base, "--resume", cwd=tmp_path)
    assert "1 of 2 graded" not in done.stderr
    assert "2 of 2 graded" in done.stderr
    assert "to settle" not in done.stdout
    assert results(tmp_path / "out")["Bob"]["verdict"] == "passed"
    assert (
        json.loads((tmp_path / "out" / "gradescope" / "Bob" / "results.json").read_text())["score"]
        == 100
    )
    (class_ / "bob.py").write_text(WRONG)
    grade(*base, "--resume", cwd=tmp_path)
    assert results(tmp_path / "out")["Bob"]["verdict"] is None
    assert "score" not in json.loads(
        (tmp_path / "out" / "gradescope" / "Bob" / "results.json").read_text()
    )


def test_a_blackboard_name_poses_as_nobody_else(tmp_path: Path) -> None:
    """Of an uploaded file's own name nothing is believed; users with underscores keep their names."""
    day = "2026-11-01-10-00-00"
    (class_ := tmp_path / "class").mkdir()
    (class_ / f"Week 3_eve_x_attempt_{day}_a_bob_attempt_{day}_gqa.py").write_text(WRONG)
    (class_ / f"Week 3_bob_attempt_{day}_gqa.py").write_text(RIGHT)
    grade("class", "--challenge", "prefix-sum", "--out", "out", cwd=tmp_path)
    assert {name: one["verdict"] for name, one in results(tmp_path / "out").items()} == {
        "bob": "passed",
        "eve_x": "failed",
    }


def test_an_assignment(tmp_path: Path) -> None:
    """Several challenges, weights, a due time: from one file."""
    for student, files in {
        "ana": {"prefix_sum.py": RIGHT, "signs.py": "x = 1\n"},
        "ben": {"prefix_sum.py": WRONG},
    }.items():
        (tmp_path / "class" / student).mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / "class" / student / name).write_text(text)
    os.utime(tmp_path / "class" / "ben" / "prefix_sum.py", (2_000_000_000, 2_000_000_000))
    (tmp_path / "week.toml").write_text(
        'title = "Week 3"\ndue = 2030-01-01\n[[challenge]]\nid = "prefix-sum"\nweights = { values = 1, runs = 1, shapes = 0, dtype = 0, "from scratch" = 0 }\n'
        '[[challenge]]\nid = "signs"\n'
    )
    grade("class", "--assignment", "week.toml", "--out", "out", cwd=tmp_path)
    found = {
        (path.parent.name, path.stem): json.loads(path.read_text())
        for path in (tmp_path / "out" / "results").rglob("*.json")
    }
    assert {key: (one["verdict"], one["late"]) for key, one in found.items()} == {
        ("prefix-sum", "ana"): ("passed", False),
        ("signs", "ana"): ("failed", False),
        ("prefix-sum", "ben"): ("failed", True),
        ("signs", "ben"): ("error", False),
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["class"], "--challenge ID, or --assignment FILE", id="no challenge"),
        pytest.param(
            ["class", "--challenge", "prefix-summ"],
            "No challenge is called 'prefix-summ'.*prefix-sum",
            id="unknown challenge",
        ),
        pytest.param(
            ["nowhere", "--challenge", "prefix-sum"], "nowhere cannot be read", id="no such folder"
        ),
        pytest.param(
            ["empty", "--challenge", "prefix-sum"], "holds no submission", id="nothing in it"
        ),
        pytest.param(
            ["class", "--challenge", "prefix-sum", "--jobs", "0"],
            "--jobs is 0; it must be 1",
            id="no jobs",
        ),
        pytest.param(
            ["class", "--challenge", "prefix-sum", "--format", "csv,pdf"],
            "--format names pdf; there are csv",
            id="format",
        ),
        pytest.param(
            ["class", "--challenge", "prefix-sum", "--time-limit", "0"],
            "0.*must be more than 0",
            id="time limit",
        ),
        pytest.param(
            ["class", "--challenge", "prefix-sum", "--seed", "-1"], "--seed is -1", id="seed"
        ),
        pytest.param(
            ["class", "--challenge", "prefix-sum", "--executor", "ray://x"],
            "--executor is 'ray://x'",
            id="executor",
        ),
        pytest.param(
            ["class", "--challenge", "prefix-sum", "--out", "file"],
            "file is a file",
            id="out is a file",
        ),
    ],
)
def test_usage(tmp_path: Path, arguments: list[str], says: str) -> None:
    """One sentence with both values, exit code 2, and nothing is written."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ana.py").write_text(RIGHT)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("kept")
    found = grade(*arguments, code=2, cwd=tmp_path).stderr
    assert re.search(says, found), found
    assert found.count("\n") == 1
    assert not (tmp_path / "grades").exists()
    assert (tmp_path / "file").read_text() == "kept"


def test_weaker_isolation_is_refused(tmp_path: Path) -> None:
    """Nothing is graded where a submission is not shut off, and the sentence says what could happen."""
    (tmp_path / "ana.py").write_text(RIGHT)
    done = grade(
        ".", "--challenge", "prefix-sum", code=3, cwd=tmp_path, ATTN_DRILL_ISOLATION="limits"
    )
    assert "a submission could open a network socket" in done.stderr
    assert not (tmp_path / "grades" / "results").exists()


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.thorough)])
def test_killed_and_resumed(tmp_path: Path, kills: int) -> None:
    """kill -9 at random moments: in the end the results are those of an undisturbed run, and what was done was not done again."""
    (tmp_path / "class").mkdir()
    for number in range(12):
        (tmp_path / "class" / f"s{number:02}.py").write_text(
            f"# {number}\n{(SLOW, WRONG, RIGHT)[number % 3]}"
        )
    base = ["class", "--challenge", "prefix-sum", "--seed", "11", "--jobs", "1"]
    grade(*base, "--out", "undisturbed", cwd=tmp_path)
    out = tmp_path / "out"
    draw = random.Random(time.time_ns())
    written: dict[str, int] = {}
    for kill in range(kills):
        process = subprocess.Popen(
            command(*base, "--out", "out", "--resume"),
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        enough = len(written) + draw.randrange(4)  # results, from none at all to a few
        soon(
            lambda enough=enough, process=process: (
                len(list((out / "results").glob("*.json"))) >= enough or process.poll() is not None
            )
        )  # type: ignore[misc]
        time.sleep(
            draw.random() * (1.5 if kill < 2 else 0.1)
        )  # before the first result too, and in the middle of one
        process.kill()
        process.wait()
        for path in (out / "results").glob("*.json"):
            assert json.loads(path.read_text())["verdict"], f"{path.name} is whole"
            assert (
                written.setdefault(path.name, path.stat().st_mtime_ns) == path.stat().st_mtime_ns
            ), "graded again"
    grade(*base, "--out", "out", "--resume", cwd=tmp_path)
    assert told(out) == told(tmp_path / "undisturbed")
    assert all(
        (out / "results" / name).stat().st_mtime_ns == when for name, when in written.items()
    )
    assert (
        not list((out / "results").glob(".new-*"))
        or len(list((out / "results").glob("*.json"))) == 12
    )
    assert (out / "grades.csv").exists()


def test_killed_leaves_no_process(tmp_path: Path) -> None:
    """Stations, fork servers and a worker in an endless loop go with the command."""
    (tmp_path / "hangs.py").write_text(HANGS)
    (tmp_path / "too.py").write_text(HANGS)
    process = subprocess.Popen(
        command(".", "--challenge", "prefix-sum", "--time-limit", "600", "--jobs", "2"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    grown = soon(lambda: len(list(descendants(process.pid))) >= 6)
    family = list(descendants(process.pid))
    process.kill()
    process.wait()
    assert grown, "two stations, fork servers and workers"
    assert soon(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C: what is done is kept, the sentence says how to go on, nothing waits for a submission that hangs."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.py").write_text(RIGHT)
    (tmp_path / "class" / "b.py").write_text(HANGS)
    base = ["class", "--challenge", "prefix-sum", "--time-limit", "600", "--jobs", "1"]
    process = subprocess.Popen(
        command(*base),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begun = soon(lambda: list((tmp_path / "grades" / "results").glob("a.json")))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert begun
    assert process.returncode == 130
    assert "Interrupted: 1 of 2 have a result" in errors
    assert "--resume goes on" in errors
    (tmp_path / "class" / "b.py").write_text(WRONG)
    grade(*base, "--resume", cwd=tmp_path)
    assert {name: one["verdict"] for name, one in results(tmp_path / "grades").items()} == {
        "a": "passed",
        "b": "failed",
    }


def can_mount() -> bool:
    """Whether this user may mount a small file system."""
    return (
        sys.platform == "linux"
        and subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode
        == 0
    )


@pytest.mark.skipif(
    not can_mount(),
    reason="no file system of a few pages can be mounted by this user; test_a_result_is_written_whole_or_not_at_all has the same fault injected",
)
def test_a_full_disk(tmp_path: Path) -> None:
    """Results that fit stay whole, the sentence names the file and what to do, and --resume goes on when there is room."""
    (tmp_path / "class").mkdir()
    (tmp_path / "out").mkdir()
    for number in range(12):
        (tmp_path / "class" / f"s{number:02}.py").write_text(f"# {number}\n{RIGHT}")
    typed = " ".join(
        f"'{part}'"
        for part in command(
            "class", "--challenge", "prefix-sum", "--seed", "3", "--out", "out/small", "--jobs", "1"
        )
    )
    script = f"mount -t tmpfs -o size=40k tmpfs out && {{ {typed}; echo exit $?; cp -r out kept; mount -o remount,size=4m out; {typed} --resume; cp -r out done; }}"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "exit 3" in done.stdout, done.stdout + done.stderr
    assert re.search(
        r"out/small/\S+ cannot be written: No space left on device\. What was written before is whole",
        done.stderr,
    )
    before, after = results(tmp_path / "kept" / "small"), results(tmp_path / "done" / "small")
    assert 0 < len(before) < 12
    assert len(after) == 12
    assert all(after[name] == one for name, one in before.items())


@pytest.mark.skipif(
    os.geteuid() == 0,
    reason="root reads every file; test_collect has unreadable ones by other means",
)
def test_an_unreadable_submission(tmp_path: Path) -> None:
    """It is reported, the others are graded."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ana.py").write_text(RIGHT)
    (tmp_path / "class" / "ben.py").write_text(RIGHT)
    (tmp_path / "class" / "ben.py").chmod(0)
    grade("class", "--challenge", "prefix-sum", cwd=tmp_path)
    assert {name: one["verdict"] for name, one in results(tmp_path / "grades").items()} == {
        "ana": "passed",
        "ben": "error",
    }


def test_a_cluster(tmp_path: Path) -> None:
    """A real scheduler and two workers, one of them killed in the middle: nothing is lost, and the results are those of one machine."""
    (tmp_path / "class").mkdir()
    for number in range(12):
        (tmp_path / "class" / f"s{number:02}.py").write_text(
            f"# {number}\n{(SLOW, WRONG, RIGHT)[number % 3]}"
        )
    base = ["class", "--challenge", "prefix-sum", "--seed", "11"]
    dask = [sys.executable, "-m", "dask"]
    quiet = {
        "cwd": tmp_path,
        "env": environment(),
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "start_new_session": True,
    }
    started: list[subprocess.Popen[bytes]] = []
    try:
        place = tmp_path / "scheduler.json"
        started.append(
            subprocess.Popen(
                [
                    *dask,
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--scheduler-file",
                    place,
                ],
                **quiet,
            )
        )  # type: ignore[call-overload]
        assert soon(lambda: place.exists() and place.read_text().strip().endswith("}"))
        address = json.loads(place.read_text())["address"].removeprefix("tcp://")
        assert (
            "has no workers"
            in grade(
                *base, "--out", "none", "--executor", f"dask://{address}", code=2, cwd=tmp_path
            ).stderr
        )
        for number in range(2):
            worker = [
                *dask,
                "worker",
                address,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--local-directory",
                tmp_path / f"w{number}",
            ]
            started.append(subprocess.Popen(worker, **quiet))  # type: ignore[call-overload]
        out = tmp_path / "out"
        from distributed import Client

        with Client(address, timeout=60, set_as_default=False) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(2, timeout=60)  # type: ignore[no-untyped-call]
        process = subprocess.Popen(
            command(*base, "--out", "out", "--executor", f"dask://{address}"),
            cwd=tmp_path,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert soon(lambda: len(list((out / "results").glob("*.json"))) >= 2)
        os.killpg(started[1].pid, signal.SIGKILL)  # its nanny too: it does not come back
        written = {path: path.stat().st_mtime_ns for path in (out / "results").glob("*.json")}
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
        assert all(path.stat().st_mtime_ns == when for path, when in written.items())
        assert len(results(out)) == 12
        assert (
            "All 12 have their results"
            in grade(*base, "--out", "out", "--resume", cwd=tmp_path).stderr
        )
    finally:
        for one in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
    grade(*base, "--out", "here", cwd=tmp_path)
    assert told(out) == told(tmp_path / "here")
