"""Tests of `class grade`: outputs, resumed and interrupted gradings, and a cluster."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from attn_drill.sandbox.isolation import descendants
from tests.support import forked
from tests.support.classroom import soon, table
from tests.support.paths import SOURCE, TINY_PACK

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


def environment(**more: str) -> dict[str, str]:
    """Return an environment with the home of the test and this checkout."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


def command(*arguments: object) -> list[str]:
    """Return the command line. By default one process grades, because each start takes seconds."""
    jobs = () if {"--jobs", "--executor"} & set(arguments) else ("--jobs", "1")
    program = [sys.executable, "-m", "attn_drill", "--pack", str(TINY_PACK), "class", "grade"]
    return [*program, *map(str, (*arguments, *jobs))]


def grade(
    *arguments: object, code: int = 0, cwd: Path, **more: str
) -> "subprocess.CompletedProcess[str]":
    """Grade a class and check the exit code. `more` has variables of the environment."""
    words = command(*arguments)[3:]  # without the words that start Python
    process = forked.run(words, cwd, environment(**more), timeout=300)
    assert process.returncode == code, process.stdout + process.stderr
    return process


def write_assignment(folder: Path, settings: str = "") -> str:
    """Write an assignment with the challenge of the tests, and return its name."""
    text = f'{settings}\n[[challenge]]\nid = "prefix-sum"\n'
    (folder / "week.toml").write_text(text)
    return "week.toml"


def results(out: Path) -> dict[str, dict[str, object]]:
    """Return the results by student."""
    found = [json.loads(path.read_text()) for path in (out / "results").rglob("*.json")]
    by_student = {result["student"]: result for result in found}
    assert len(by_student) == len(found)
    return by_student


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
    arguments = ["class", "--assignment", write_assignment(folder, "seconds = 2"), "--out", "out"]
    arguments += ["--write", "csv,html,junit,gradescope,similar", "--jobs", "2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_DRILL_HOME", str(folder / "home"))
        yield class_, folder / "out", grade(*arguments, cwd=folder)


def test_every_student_has_a_result(graded_class: GradedClass) -> None:
    """Every submission gets its own verdict, also with an unusual name. All have the same cases."""
    _, out, process = graded_class
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
    seed = json.loads((out / "class.json").read_text())["seed"]
    assert {result["seed"] for result in results(out).values()} - {None} == {seed}
    counts = "21 results: 12 passed, 2 failed, 1 error, 2 time limit, 4 not graded"
    assert counts in process.stdout
    assert "\n4 files of 4 students were not graded: " in process.stdout
    assert "notes.pdf" in process.stderr
    assert "21/21" in process.stderr


def test_submission_that_a_person_must_settle_has_no_points(graded_class: GradedClass) -> None:
    """The table and the report name both files of the student."""
    _, out, _ = graded_class
    message = (
        "There are 2 answers to prefix-sum: twice.py, twice/prefix_sum.py. Remove or rename all but"
        " one, then grade again with --resume."
    )
    assert message in (out / "report.html").read_text()
    (row,) = [row for row in table(out / "grades.csv") if row["student"] == "twice"]
    assert (row["prefix-sum"], row["total"]) == ("", "")
    assert message in row["look"]
    assert "score" not in json.loads((out / "gradescope" / "twice" / "results.json").read_text())


def test_every_format_has_all_students(graded_class: GradedClass) -> None:
    """No cell is a formula of a spreadsheet, and the page needs no network."""
    _, out, _ = graded_class
    for name in ("grades.csv", "grades_by_challenge.csv"):
        rows = table(out / name)
        assert len(rows) == 21
        assert not any(
            cell.lstrip().startswith(("=", "+", "-", "@")) for row in rows for cell in row.values()
        )
    assert len(ET.parse(out / "junit.xml").getroot().findall("testsuite")) == 21
    assert len(list((out / "gradescope").glob("*/results.json"))) == 21
    html = (out / "report.html").read_text()
    assert "Ana López" in html
    assert "http" not in re.sub(r"http-equiv", "", html)
    assert "copy_of_wrong" in (out / "similar.csv").read_text("utf-8-sig")


def test_earlier_grading_is_never_overwritten(graded_class: GradedClass) -> None:
    """Without --resume it is refused. With --resume, no unchanged submission is graded again."""
    class_, out, _ = graded_class
    before = write_times(out)
    base = [class_.name, "--out", out.name, "--challenge", "prefix-sum"]
    process = grade(*base, code=2, cwd=out.parent)
    assert "`attn-drill class grade --resume out` continues it" in process.stderr
    arguments = [class_.name, "--out", out.name, "--challenge", "signs", "--resume"]
    process = grade(*arguments, code=2, cwd=out.parent)
    assert "challenges: prefix-sum. This command has challenges: signs." in process.stderr
    process = grade("--resume", out.name, cwd=out.parent)
    assert "All 21 submissions already have a result" in process.stderr
    assert "changed" not in process.stdout
    assert write_times(out) == before


def test_resume_grades_only_what_changed(tmp_path: Path) -> None:
    """Everything else comes from class.json. The marks that changed are listed with the reason."""
    (class_ := tmp_path / "class").mkdir()
    for name in ("ana", "ben", "cleo"):
        (class_ / f"{name}.py").write_text(WRONG)
    settings = write_assignment(tmp_path, "seconds = 5")
    grade("class", "--assignment", settings, "--write", "csv,feedback", cwd=tmp_path)
    before = write_times(tmp_path / "grades")
    (class_ / "ana.py").write_text(RIGHT)
    (class_ / "ben.py").unlink()
    (class_ / "di.py").write_text(RIGHT)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    process = grade("--resume", "../grades", cwd=elsewhere)
    after = write_times(tmp_path / "grades")
    changed = {name for name in after if after[name] != before.get(name)}
    assert (changed, set(after)) == ({"ana.json", "di.json"}, {"ana.json", "cleo.json", "di.json"})
    assert verdicts(tmp_path / "grades") == {"ana": "passed", "cleo": "failed", "di": "passed"}
    rows = {row["student"]: row for row in table(tmp_path / "grades" / "changed_marks.csv")}
    assert {name: (row["after"], row["reason"]) for name, row in rows.items()} == {
        "ana": ("100", "new file"),
        "ben": ("", "not in the class any more"),
        "di": ("100", "new file"),
    }
    assert "3 marks changed:\n  ana, prefix-sum: " in process.stdout
    assert not (tmp_path / "grades" / "feedback" / "ben.html").exists()


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
    grade("class", "--challenge", "prefix-sum", cwd=tmp_path)
    assert verdicts(tmp_path / "grades") == {"ana": "passed", "bob": None}
    process = grade("--resume", "grades", cwd=tmp_path)
    assert "All 2 submissions already have a result" in process.stderr
    (class_ / "bob.py").rename(tmp_path / "taken_out.py")
    process = grade("--resume", "grades", cwd=tmp_path)
    assert "2/2" in process.stderr
    assert verdicts(tmp_path / "grades")["Bob"] == "passed"
    (class_ / "bob.py").write_text(WRONG)
    grade("--resume", "grades", cwd=tmp_path)
    assert verdicts(tmp_path / "grades") == {"ana": "passed", "bob": None}


ONE = ["--challenge", "prefix-sum"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["class"], "--challenge ID, or an assignment with --assignment FILE"),
        (["class", "--resume"], "class has no class.json of an earlier grading"),
        (["class", "--challenge", "prefix-summ"], "No challenge is called 'prefix-summ'.*prefix-s"),
        (["nowhere", *ONE], "There is no .*nowhere"),
        (["empty", *ONE], "holds no submission"),
        (["class", *ONE, "--jobs", "0"], "--jobs.*0 is not in the range 1"),
        (["class", *ONE, "--write", "csv,pdf"], "--write names pdf; the formats are csv"),
        (["class", *ONE, "--executor", "ray://x"], "--executor is 'ray://x'"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    """The exit code is 2, stderr has one sentence, and nothing is written."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ana.py").write_text(RIGHT)
    (tmp_path / "empty").mkdir()
    errors = grade(*arguments, code=2, cwd=tmp_path).stderr
    assert re.search(message, errors), errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "grades").exists()


@pytest.mark.sampled(2)
@pytest.mark.thorough
@pytest.mark.parametrize("kills", [2, 10])
def test_killed_grading_can_be_resumed(tmp_path: Path, kills: int) -> None:
    """After kill -9 at random moments, the final results are those of an undisturbed run.

    No submission with a result is graded again.
    """
    write_mixed_class(tmp_path / "class")
    base = ["class", "--assignment", write_assignment(tmp_path, "seed = 11"), "--jobs", "1"]
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
        command("class", "--assignment", write_assignment(tmp_path, "seconds = 600")),
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
def test_interrupt_at_any_moment_ends_the_command(tmp_path: Path) -> None:
    """It takes at most three seconds, and every result is whole."""
    write_mixed_class(tmp_path / "class")
    (tmp_path / "class" / "hangs.py").write_text(HANGS)
    draw = random.Random(time.time_ns())
    for moment in range(6):
        process = started(tmp_path, "--out", f"out{moment}")
        time.sleep(1 + 4 * draw.random())
        code, errors, seconds = interrupt(process)
        assert (code, seconds < 3) == (130, True), errors
        assert all(result["verdict"] for result in results(tmp_path / f"out{moment}").values())


def started(folder: Path, *more: str) -> "subprocess.Popen[str]":
    """Start to grade a class with a long time limit."""
    settings = write_assignment(folder, "seconds = 600")
    return subprocess.Popen(
        command("class", "--assignment", settings, "--jobs", "1", *more),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupt(process: "subprocess.Popen[str]") -> tuple[int, str, float]:
    """Press Ctrl-C. Return the exit code, the errors, and the seconds until the end."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors, time.monotonic() - began


@pytest.mark.thorough  # tests/classroom/test_grading_jobs.py needs no processes
def test_cluster_gives_the_same_results(tmp_path: Path) -> None:
    """A class is graded on a real Dask scheduler with two workers, and one worker is killed."""
    write_mixed_class(tmp_path / "class")
    base = ["class", "--assignment", write_assignment(tmp_path, "seed = 11")]
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
            client.wait_for_workers(2, timeout=60)
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
        process = grade("--resume", "out", cwd=tmp_path)
        assert "All 12 submissions already have a result" in process.stderr
    finally:
        for server in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    grade(*base, "--out", "here", cwd=tmp_path)
    assert without_times(out) == without_times(tmp_path / "here")
