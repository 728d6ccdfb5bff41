"""Tests of the command `grade`: outputs, resumed and interrupted gradings, and a cluster."""

import contextlib
import csv
import io
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

from tests.support import forked
from tests.support.classroom import answered, plan, soon, submission
from tests.support.paths import TINY_PACK
from trainer.classroom import executors
from trainer.classroom.grading_jobs import ExecutorLostError, WatchedExecutor, jobs_of
from trainer.classroom.result_store import ResultStore
from trainer.cli.grade import _deferred_interrupts, _grade_all
from trainer.model.errors import GraderError
from trainer.packs import pack_reader
from trainer.sandbox.isolation import descendants

# A graded class: its folder, the folder of the results, and the finished process.
GradedClass = tuple[Path, Path, "subprocess.CompletedProcess[str]"]

TINY = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
RIGHT = pack_reader.solution(TINY)
WRONG = "import torch\ndef prefix_sum(x, reverse=False):\n    return x.cumsum(-1) * 2\n"
SLOW = "import time\n" + RIGHT.replace("def prefix_sum", "time.sleep(0.05)\n\n\ndef prefix_sum", 1)
HANGS = f"import time\nwhile True: time.sleep(1)\n{RIGHT}"
FLOODS = f"import time\nwhile True: print('x' * 100_000); time.sleep(0.02)\n{RIGHT}"
# Code that makes a file long enough to be compared with others.
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
"""
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


def test_interrupt_is_deferred_until_a_job_is_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C during `submit` ends the grading after `submit` returned.

    The submitted job is cancelled, and the previous signal handler is restored.
    """
    submitted: list[Future[bytes]] = []

    class Slow:
        def submit(self, function: object, *arguments: object) -> Future[bytes]:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)  # Python handles the signal during this sleep
            submitted.append(Future())
            return submitted[-1]

    monkeypatch.setattr(executors, "executor_for", lambda where, jobs: nullcontext((Slow(), 1)))
    previous = signal.getsignal(signal.SIGINT)
    jobs = jobs_of(plan(), [submission("ana"), submission("ben")])
    store = ResultStore(tmp_path, ["prefix-sum"])
    assert _grade_all(plan(), jobs, store, "local", 1, resume=False)
    assert [future.cancelled() for future in submitted] == [True]
    assert signal.getsignal(signal.SIGINT) is previous


def test_interrupt_during_the_last_submission_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result of the last submission is written."""

    class Last:
        def submit(self, function: object, *arguments: object) -> Future[bytes]:
            finished: Future[bytes] = Future()
            finished.set_result(answered("no grader"))
            signal.raise_signal(signal.SIGINT)
            return finished

    monkeypatch.setattr(executors, "executor_for", lambda where, jobs: nullcontext((Last(), 1)))
    store = ResultStore(tmp_path, ["prefix-sum"])
    jobs = jobs_of(plan(), [submission("ana")])
    assert _grade_all(plan(), jobs, store, "local", 1, resume=False)
    assert store.read("ana", "prefix-sum") is not None


def test_lost_executor_is_a_sentence_and_keeps_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence has the loss, the number of kept results, and the next step."""

    class Lost(WatchedExecutor):
        def submit(self, function: object, *arguments: object) -> Future[bytes]:  # type: ignore[override]
            finished: Future[bytes] = Future()
            finished.set_result(answered("no grader"))
            return finished

        def obstacle(self) -> str:
            raise ExecutorLostError("The scheduler is gone", "start it again")

    monkeypatch.setattr(executors, "executor_for", lambda where, jobs: nullcontext((Lost(), 1)))
    store = ResultStore(tmp_path, ["prefix-sum"])
    jobs = jobs_of(plan(), [submission(name) for name in ("ana", "ben", "cleo")])
    with pytest.raises(GraderError) as raised:
        _grade_all(plan(), jobs, store, "local", 1, resume=False, again=())
    assert str(raised.value) == (
        f"The scheduler is gone; 1 of 3 have a result in {tmp_path / 'results'}, so start it again"
        " and run the same command with --resume."
    )
    assert store.read("ana", "prefix-sum") is not None


def test_second_interrupt_is_raised_at_once() -> None:
    """A user presses Ctrl-C again if nothing has happened."""
    with _deferred_interrupts() as interrupted:
        os.kill(os.getpid(), signal.SIGINT)
        assert soon(interrupted)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def environment(**more: str) -> dict[str, str]:
    """Return an environment with the home of the test and this checkout."""
    return {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), **more}


def command(*arguments: object) -> list[str]:
    """Return the command line. By default one process grades, because each start takes seconds."""
    jobs = () if {"--jobs", "--executor"} & set(arguments) else ("--jobs", "1")
    program = [sys.executable, "-m", "trainer", "--pack", str(TINY_PACK), "grade"]
    return [*program, *map(str, (*arguments, *jobs))]


def grade(
    *arguments: object, code: int = 0, cwd: Path, **more: str
) -> "subprocess.CompletedProcess[str]":
    """Grade a class and check the exit code.

    Args:
        arguments: the arguments of the command.
        code: the expected exit code.
        cwd: the current folder.
        more: additional variables of the environment.
    """
    words = command(*arguments)[3:]  # without the words that start Python
    process = forked.run(words, cwd, environment(**more), timeout=300)
    assert process.returncode == code, process.stdout + process.stderr
    return process


def results(out: Path) -> dict[str, dict[str, object]]:
    """Return the results by student."""
    found = [json.loads(path.read_text()) for path in (out / "results").rglob("*.json")]
    by_student = {result["student"]: result for result in found}
    assert len(by_student) == len(found)
    return by_student


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def verdicts(out: Path) -> dict[str, object]:
    """Return the verdicts by student."""
    return {student: result["verdict"] for student, result in results(out).items()}


def without_times(out: Path) -> dict[str, object]:
    """Return the results without the elapsed times, which differ between runs."""
    return {
        student: {key: value for key, value in result.items() if key != "elapsed_seconds"}
        for student, result in results(out).items()
    }


def write_times(out: Path) -> dict[str, int]:
    """Return the time when each result was written, by file name."""
    return {path.name: path.stat().st_mtime_ns for path in (out / "results").glob("*.json")}


def write_mixed_class(folder: Path) -> None:
    """Write the submissions of twelve students: a third is slow, a third wrong, a third right."""
    folder.mkdir()
    for index in range(12):
        source = (SLOW, WRONG, RIGHT)[index % 3]
        (folder / f"s{index:02}.py").write_text(f"# {index}\n{source}")


@pytest.fixture(scope="module")
def graded_class(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GradedClass]:
    """Return a class with all kinds of submissions, graded once with every output."""
    folder = tmp_path_factory.mktemp("class")
    class_ = folder / "class"
    class_.mkdir()
    for name in ODD_NAMES:
        (class_ / f"{name}.py").write_text(RIGHT)
    (class_ / "wrong.py").write_text(WRONG + UNUSED)
    (class_ / "hangs.py").write_text(HANGS)
    (class_ / "dies.py").write_text(f"import os; os._exit(0)\n{RIGHT}")
    (class_ / "floods.py").write_text(FLOODS)
    (class_ / "empty.py").write_text("")
    (class_ / "binary.py").write_bytes(b"\x00\xff\xfe")
    (class_ / "twice.py").write_text(RIGHT)
    (class_ / "twice").mkdir()
    (class_ / "twice" / "prefix_sum.py").write_text(WRONG)
    (class_ / "nothing").mkdir()
    (class_ / "nothing" / "notes.txt").write_text("x")
    (class_ / "notes.pdf").write_bytes(b"%PDF")
    (class_ / "copy_of_wrong.py").write_text(WRONG + UNUSED.replace("times", "factor"))
    arguments = ["class", "--challenge", "prefix-sum", "--out", "out", "--time-limit", "2"]
    arguments += ["--format", "csv,html,junit,gradescope", "--similar", "--jobs", "2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_DRILL_HOME", str(folder / "home"))
        yield class_, folder / "out", grade(*arguments, cwd=folder)


def test_every_student_has_a_result(graded_class: GradedClass) -> None:
    """Every submission gets its own verdict, also with an unusual name."""
    _, out, _ = graded_class
    assert verdicts(out) == {
        **dict.fromkeys(ODD_NAMES, "passed"),
        "wrong": "failed",
        "copy_of_wrong": "failed",
        "hangs": "timeout",
        "dies": "error",
        "floods": "timeout",
        "empty": None,
        "binary": None,
        "twice": None,
        "nothing": None,
    }


def test_all_students_have_the_same_seed(graded_class: GradedClass) -> None:
    """`class.json` keeps the seed for --resume."""
    _, out, _ = graded_class
    seed = json.loads((out / "class.json").read_text())["seed"]
    assert {result["seed"] for result in results(out).values()} - {None} == {seed}


def test_summary_is_on_stdout_and_progress_on_stderr(graded_class: GradedClass) -> None:
    """Stdout has the counts and the paths. Stderr has ignored files and the progress."""
    _, _, process = graded_class
    counts = "21 results: 12 passed, 2 failed, 1 error, 2 time limit, 4 not graded"
    assert counts in process.stdout
    assert "out/report.html" in process.stdout
    assert "notes.pdf" in process.stderr
    assert "21 of 21 graded" in process.stderr


def test_several_submissions_of_the_same_name_are_not_graded(graded_class: GradedClass) -> None:
    """The terminal, the table and the report name both files. There are no points."""
    _, out, process = graded_class
    message = (
        "There are 2 answers to prefix-sum: twice.py, twice/prefix_sum.py. Remove or rename all but"
        " one, then grade again with --resume."
    )
    assert "\n4 submissions of 4 students not graded: " in process.stdout
    report, junit = (out / "report.html").read_text(), (out / "junit.xml").read_text()
    assert message in report
    for text in ((out / "grades.csv").read_text(), report, junit):
        assert "twice (2)" not in text
    (row,) = [row for row in table(out / "grades.csv") if row["student"] == "twice"]
    assert (row["prefix-sum"], row["total"]) == ("", "")
    assert message in row["look"]
    rows = table(out / "grades_by_challenge.csv")
    (row,) = [row for row in rows if row["student"] == "twice"]
    assert (row["verdict"], row["score"]) == ("not graded", "")
    assert row["likely_mistake"].startswith(message)
    assert "score" not in json.loads((out / "gradescope" / "twice" / "results.json").read_text())
    (suite,) = [suite for suite in ET.fromstring(junit) if suite.get("name") == "twice: prefix-sum"]
    assert suite.get("errors") == "1"


def test_table_has_one_row_for_each_student(graded_class: GradedClass) -> None:
    """The columns are those of the contract, and no cell is a formula of a spreadsheet."""
    _, out, _ = graded_class
    for file, header in (
        ("grades.csv", "student,id,file,late,days_late,penalty,prefix-sum,total,look"),
        (
            "grades_by_challenge.csv",
            "student,challenge,verdict,score,checks_passed,checks_total,likely_mistake,seconds",
        ),
    ):
        rows = table(out / file)
        assert ",".join(rows[0]) == header
        assert len(rows) == 21
        assert not any(
            cell.lstrip().startswith(("=", "+", "-", "@")) for row in rows for cell in row.values()
        )
    by_name = {row["student"]: row for row in table(out / "grades.csv")}
    assert (by_name["Ana López"]["total"], by_name["empty"]["total"]) == ("100", "")
    assert "empty.py is empty" in by_name["empty"]["look"]


def test_all_other_formats_are_written(graded_class: GradedClass) -> None:
    """Each format has all students."""
    _, out, _ = graded_class
    assert len(ET.parse(out / "junit.xml").getroot().findall("testsuite")) == 21
    assert len(list((out / "gradescope").glob("*/results.json"))) == 21
    html = (out / "report.html").read_text()
    assert "Ana López" in html
    assert "http" not in re.sub(r"http-equiv", "", html)


def test_copies_are_listed(graded_class: GradedClass) -> None:
    """The report has files with the same text, and the table has similar files."""
    _, out, process = graded_class
    (row,) = table(out / "similar.csv")
    assert (row["student"], row["other"], row["share"]) == ("copy_of_wrong", "wrong", "1.00")
    assert "out/similar.csv" in process.stdout
    assert "the text of solution.py" in (out / "report.html").read_text()


def test_similar_without_its_library_is_refused(tmp_path: Path) -> None:
    """The message has the command that installs the library. Nothing is read or written."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "copydetect.py").write_text("raise ImportError('not installed')")
    path = os.pathsep.join((str(tmp_path / "hidden"), str(pack_reader.TRAINER.parent)))
    base = ["nowhere", "--challenge", "prefix-sum", "--similar"]
    process = subprocess.run(
        command(*base),
        cwd=tmp_path,
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2
    assert "pip install 'attn-drill[similar]'" in process.stderr
    assert process.stderr.count("\n") == 1
    assert not (tmp_path / "grades").exists()


def test_earlier_grading_is_never_overwritten(graded_class: GradedClass) -> None:
    """A grading without --resume or with other settings is refused.

    With --resume, no unchanged submission is graded again.
    """
    class_, out, _ = graded_class
    before = write_times(out)
    common = [class_.name, "--out", out.name, "--time-limit", "2"]
    base = [*common, "--challenge", "prefix-sum"]
    assert "--resume continues it" in grade(*base, code=2, cwd=out.parent).stderr
    seed = json.loads((out / "class.json").read_text())["seed"]
    process = grade(*base, "--resume", "--seed", seed + 1, code=2, cwd=out.parent)
    assert f"started with seed: {seed}. This command has seed: {seed + 1}." in process.stderr
    process = grade(*common, "--challenge", "signs", "--resume", code=2, cwd=out.parent)
    assert "challenges: prefix-sum. This command has challenges: signs." in process.stderr
    process = grade(*base, "--resume", cwd=out.parent)
    assert "All 21 submissions already have a result" in process.stderr
    assert write_times(out) == before


def test_resume_grades_only_changed_submissions(tmp_path: Path, graded_class: GradedClass) -> None:
    """A changed and a new submission are graded. A removed submission is not in the table."""
    class_, out, _ = graded_class
    shutil.copytree(class_, tmp_path / "class")
    shutil.copytree(out, tmp_path / "out")
    before = write_times(tmp_path / "out")
    (tmp_path / "class" / "wrong.py").write_text(RIGHT)
    (tmp_path / "class" / "late.py").write_text(WRONG)
    (tmp_path / "class" / "dies.py").unlink()
    base = ["class", "--challenge", "prefix-sum", "--out", "out", "--time-limit", "2"]
    process = grade(*base, "--resume", cwd=tmp_path)
    assert "21 results" in process.stdout
    after = write_times(tmp_path / "out")
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"wrong.json", "late.json"}
    assert results(tmp_path / "out")["wrong"]["verdict"] == "passed"
    assert "\ndies," not in (tmp_path / "out" / "grades.csv").read_text()


@pytest.mark.thorough
def test_settled_name_is_graded(tmp_path: Path) -> None:
    """After one of two files of a name is removed, --resume grades only the other file.

    If a second file appears later, the result is withdrawn.
    """
    class_ = tmp_path / "class"
    (class_ / "Bob").mkdir(parents=True)
    (class_ / "ana.py").write_text(RIGHT)
    (class_ / "bob.py").write_text(WRONG)
    (class_ / "Bob" / "prefix_sum.py").write_text(RIGHT)
    base = ["class", "--challenge", "prefix-sum", "--out", "out", "--format", "csv,gradescope"]
    first = grade(*base, cwd=tmp_path)
    assert verdicts(tmp_path / "out") == {"ana": "passed", "Bob": None}
    second = grade(*base, "--resume", cwd=tmp_path)
    assert "All 2 submissions already have a result" in second.stderr
    for process in (first, second):
        assert "1 submission of 1 student not graded: " in process.stdout
    (class_ / "bob.py").rename(tmp_path / "taken_out.py")
    process = grade(*base, "--resume", cwd=tmp_path)
    assert "1 of 2 graded" not in process.stderr
    assert "2 of 2 graded" in process.stderr
    assert "not graded" not in process.stdout
    assert results(tmp_path / "out")["Bob"]["verdict"] == "passed"
    gradescope = tmp_path / "out" / "gradescope" / "Bob" / "results.json"
    assert json.loads(gradescope.read_text())["score"] == 100
    (class_ / "bob.py").write_text(WRONG)
    grade(*base, "--resume", cwd=tmp_path)
    assert results(tmp_path / "out")["Bob"]["verdict"] is None
    assert "score" not in json.loads(gradescope.read_text())


@pytest.mark.thorough
def test_file_name_from_a_student_does_not_change_the_student(tmp_path: Path) -> None:
    """Only Blackboard's part of a file name counts. A receipt shows where the user begins."""
    day = "2026-11-01-10-00-00"
    (class_ := tmp_path / "class").mkdir()
    (class_ / f"Week 3_eve_x_attempt_{day}_a_bob_attempt_{day}_gqa.py").write_text(WRONG)
    (class_ / f"Week 3_bob_attempt_{day}_gqa.py").write_text(RIGHT)
    (class_ / f"Week 3_eve_x_attempt_{day}.txt").write_text("Name: Eve (eve_x)\n")
    grade("class", "--challenge", "prefix-sum", "--out", "out", cwd=tmp_path)
    assert verdicts(tmp_path / "out") == {"bob": "passed", "eve_x": "failed"}


@pytest.mark.thorough
def test_assignment_with_two_challenges(tmp_path: Path) -> None:
    """The file has two challenges, weights and a due time. A missing file is not late."""
    for student, files in {
        "ana": {"prefix_sum.py": RIGHT, "signs.py": "def positive(x):\n    return x\n"},
        "ben": {"prefix_sum.py": WRONG},
    }.items():
        (tmp_path / "class" / student).mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / "class" / student / name).write_text(text)
    (tmp_path / "times.csv").write_text("student,submitted\nben,2030-01-02 10:00\n")
    (tmp_path / "week.toml").write_text(
        'title = "Week 3"\ndue = 2030-01-01\n[[challenge]]\nid = "prefix-sum"\n'
        'weights = { values = 1, runs = 1, shapes = 0, dtype = 0, "from scratch" = 0 }\n'
        '[[challenge]]\nid = "signs"\n'
    )
    arguments = ["class", "--assignment", "week.toml", "--submitted", "times.csv"]
    grade(*arguments, "--out", "out", cwd=tmp_path)
    found = {}
    for path in (tmp_path / "out" / "results").rglob("*.json"):
        result = json.loads(path.read_text())
        found[path.parent.name, path.stem] = (result["verdict"], result["late"])
    assert found == {
        ("prefix-sum", "ana"): ("passed", False),
        ("signs", "ana"): ("failed", False),
        ("prefix-sum", "ben"): ("failed", True),
        ("signs", "ben"): ("error", False),
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["class"], "--challenge ID, or an assignment with --assignment FILE", id="no challenge"
        ),
        pytest.param(
            ["class", "--challenge", "prefix-summ"],
            "No challenge is called 'prefix-summ'.*prefix-sum",
            id="unknown challenge",
        ),
        pytest.param(
            ["nowhere", "--challenge", "prefix-sum"], "nowhere cannot be read", id="missing folder"
        ),
        pytest.param(
            ["empty", "--challenge", "prefix-sum"], "holds no submission", id="empty folder"
        ),
        pytest.param(
            ["class", "--challenge", "prefix-sum", "--jobs", "0"],
            "--jobs is 0; it must be 1",
            id="no jobs",
        ),
        pytest.param(
            ["class", "--challenge", "prefix-sum", "--format", "csv,pdf"],
            "--format names pdf; the formats are csv",
            id="unknown format",
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
def test_wrong_arguments_are_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    """The exit code is 2, stderr has one sentence, and nothing is written."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ana.py").write_text(RIGHT)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("old")
    errors = grade(*arguments, code=2, cwd=tmp_path).stderr
    assert re.search(message, errors), errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "grades").exists()
    assert (tmp_path / "file").read_text() == "old"


def test_weaker_isolation_is_refused(tmp_path: Path) -> None:
    """If submissions cannot be isolated, nothing is graded, and the message names the danger."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ana.py").write_text(RIGHT)
    process = grade(
        "class",
        "--challenge",
        "prefix-sum",
        code=3,
        cwd=tmp_path,
        ATTN_DRILL_ISOLATION="limits",
    )
    assert "a submission could open a network socket" in process.stderr
    assert not (tmp_path / "grades" / "results").exists()


@pytest.mark.sampled(2)
@pytest.mark.thorough
@pytest.mark.parametrize("kills", [2, 10])
def test_killed_grading_can_be_resumed(tmp_path: Path, kills: int) -> None:
    """After kill -9 at random moments, the final results are those of an undisturbed run.

    No submission with a result is graded again.
    """
    write_mixed_class(tmp_path / "class")
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
        enough = len(written) + draw.randrange(4)
        while len(write_times(out)) < enough and process.poll() is None:
            time.sleep(0.02)
        # The first kills may come before the first result, and others in the middle of a result.
        time.sleep(draw.random() * (1.5 if kill < 2 else 0.1))
        process.kill()
        process.wait()
        assert all(result["verdict"] for result in results(out).values()), "no result is cut off"
        now = write_times(out)
        assert {name: now[name] for name in written} == written, "graded again"
        written = now
    grade(*base, "--out", "out", "--resume", cwd=tmp_path)
    assert without_times(out) == without_times(tmp_path / "undisturbed")
    now = write_times(out)
    assert {name: now[name] for name in written} == written
    assert not list((out / "results").glob(".new-*")) or len(now) == 12
    assert (out / "grades.csv").exists()


@pytest.mark.thorough  # two starts of Python; the next test starts them, too
def test_killed_command_leaves_no_process(tmp_path: Path) -> None:
    """The grading server, the fork server and an endless worker process end with the command."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "hangs.py").write_text(HANGS)
    process = subprocess.Popen(
        command("class", "--challenge", "prefix-sum", "--time-limit", "600"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    has_started = soon(lambda: len(list(descendants(process.pid))) >= 3)
    family = list(descendants(process.pid))
    process.kill()
    process.wait()
    assert has_started, "a grading server, a fork server and a worker"
    assert soon(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))


@pytest.mark.thorough
def test_interrupted_grading_can_be_resumed(tmp_path: Path) -> None:
    """Ctrl-C keeps finished results and does not wait for a submission that hangs.

    The message has the next step.
    """
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
    has_result = soon(lambda: list((tmp_path / "grades" / "results").glob("a.json")))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert has_result
    assert process.returncode == 130
    assert "Interrupted: 1 of 2 have a result" in errors
    assert "To continue, run the same command with --resume." in errors
    (tmp_path / "class" / "b.py").write_text(WRONG)
    grade(*base, "--resume", cwd=tmp_path)
    assert verdicts(tmp_path / "grades") == {"a": "passed", "b": "failed"}


def can_mount() -> bool:
    """Return whether this user may mount a small file system."""
    if sys.platform != "linux":
        return False
    process = subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True)
    return process.returncode == 0


@pytest.mark.thorough
@pytest.mark.skipif(
    not can_mount(),
    reason="this user cannot mount a small file system; test_full_disk_leaves_the_old_result"
    " tests the same error without one",
)
def test_full_disk(tmp_path: Path) -> None:
    """Complete results stay, and --resume continues when there is space again.

    The message names the file and the next step.
    """
    (tmp_path / "class").mkdir()
    (tmp_path / "out").mkdir()
    for index in range(5):
        (tmp_path / "class" / f"s{index:02}.py").write_text(f"# {index}\n{RIGHT}")
    arguments = ["class", "--challenge", "prefix-sum", "--seed", "3", "--out", "out/small"]
    line = " ".join(f"'{word}'" for word in command(*arguments, "--jobs", "1"))
    script = (
        f"mount -t tmpfs -o size=28k tmpfs out && {{ {line}; echo exit $?; cp -r out before;"
        f" mount -o remount,size=4m out; {line} --resume; cp -r out after; }}"
    )
    process = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "exit 3" in process.stdout, process.stdout + process.stderr
    message = (
        r"out/small/\S+ cannot be written: No space left on device\."
        r" The files written before are complete"
    )
    assert re.search(message, process.stderr)
    before, after = results(tmp_path / "before" / "small"), results(tmp_path / "after" / "small")
    assert 0 < len(before) < 5
    assert len(after) == 5
    assert all(after[student] == result for student, result in before.items())


@pytest.mark.skipif(
    os.geteuid() == 0,
    reason="root reads every file",
)
def test_unreadable_submission_gets_an_error(tmp_path: Path) -> None:
    """The other submissions are graded."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ana.py").write_text(RIGHT)
    (tmp_path / "class" / "ben.py").write_text(RIGHT)
    (tmp_path / "class" / "ben.py").chmod(0)
    grade("class", "--challenge", "prefix-sum", cwd=tmp_path)
    assert verdicts(tmp_path / "grades") == {"ana": "passed", "ben": None}


@pytest.mark.thorough  # tests/classroom/test_dask_executor.py needs no processes
def test_cluster_gives_the_same_results(tmp_path: Path) -> None:
    """A class is graded on a real Dask scheduler with two workers, and one worker is killed."""
    write_mixed_class(tmp_path / "class")
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
        file = tmp_path / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file]
        started.append(subprocess.Popen([*dask, "scheduler", *options], **quiet))  # type: ignore[call-overload]
        assert soon(lambda: file.exists() and file.read_text().strip().endswith("}"))
        address = json.loads(file.read_text())["address"].removeprefix("tcp://")
        executor = ["--executor", f"dask://{address}"]
        process = grade(*base, "--out", "none", *executor, code=2, cwd=tmp_path)
        assert "has no workers" in process.stderr
        for index in range(2):
            options = ["--nthreads", "1", "--no-dashboard", "--local-directory"]
            worker = [*dask, "worker", address, *options, tmp_path / f"w{index}"]
            started.append(subprocess.Popen(worker, **quiet))  # type: ignore[call-overload]
        out = tmp_path / "out"
        from distributed import Client

        with Client(address, timeout=60, set_as_default=False) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(2, timeout=60)  # type: ignore[no-untyped-call]
        grading = subprocess.Popen(
            command(*base, "--out", "out", *executor),
            cwd=tmp_path,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert soon(lambda: len(write_times(out)) >= 2)
        # Also kill the worker's nanny, which would start the worker again.
        os.killpg(started[1].pid, signal.SIGKILL)
        written = write_times(out)
        _, errors = grading.communicate(timeout=200)
        assert grading.returncode == 0, errors
        now = write_times(out)
        assert {name: now[name] for name in written} == written
        assert len(results(out)) == 12
        process = grade(*base, "--out", "out", "--resume", cwd=tmp_path)
        assert "All 12 submissions already have a result" in process.stderr
    finally:
        for server in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    grade(*base, "--out", "here", cwd=tmp_path)
    assert without_times(out) == without_times(tmp_path / "here")
