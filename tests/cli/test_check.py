"""The command `check`: report, JSON object, exit code and journal."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attn_drill.cli import _check
from attn_drill.cli._check import stage_of, wait_for_key
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Attempted
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, rated_reviews, since_start
from attn_drill.sandbox.isolation import descendants
from tests.support.cli import BUILT_IN, TILED, drill
from tests.support.paths import SOURCE, TINY_PACK
from tests.support.rows import each_row

# A challenge that is graded three times as fast as gqa.
RMSNORM = pack_reader.find_challenge(BUILT_IN, "rmsnorm")
NORM = pack_reader.solution(RMSNORM)
LINE = next(line for line, text in enumerate(TILED.splitlines(), 1) if "k.repeat(" in text)


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """Return a folder with a right rmsnorm.py."""
    (tmp_path / "rmsnorm.py").write_text(NORM)
    return tmp_path


def test_check_exits_with_0_after_a_pass_and_1_after_a_failure(solved: Path) -> None:
    """The verdict comes first."""
    assert drill("check", "rmsnorm", cwd=solved).stdout.startswith("PASSED  rmsnorm")
    (solved / "wrong.py").write_text(NORM.replace(".mean(", ".sum("))
    done = drill("check", "rmsnorm", "wrong.py", "--seed", "5", cwd=solved, code=1)
    assert done.stdout.startswith("FAILED  rmsnorm")
    assert "attn-drill check rmsnorm wrong.py --seed 5 --case 1" in done.stdout


def test_pass_is_shown_on_a_terminal_without_unicode(solved: Path) -> None:
    """The line of the next steps has a sign that is not ASCII."""
    done = drill("check", "rmsnorm", cwd=solved, PYTHONIOENCODING="ascii")
    assert "comes back" in done.stdout


@pytest.mark.thorough
def test_command_of_the_report_repeats_the_failing_case(solved: Path) -> None:
    """The seed and the case number give the same values again."""
    (solved / "rmsnorm.py").write_text(NORM.replace(".mean(", ".sum("))
    report = json.loads(drill("check", "rmsnorm", "--json", cwd=solved, code=1).stdout)
    failed = next(check for check in report["checks"] if check["status"] == "failed")
    again = ("--json", "--seed", str(report["seed"]), "--case", str(failed["case_number"]))
    report = json.loads(drill("check", "rmsnorm", *again, cwd=solved, code=1).stdout)
    failures = [check for check in report["checks"] if check["status"] == "failed"]
    assert failures[0] == failed


def test_json_is_one_object_with_the_keys_of_the_contract(tmp_path: Path) -> None:
    """The output of the learner's file is inside the object."""
    (tmp_path / "gqa.py").write_text("print('hi')\n" + TILED)
    command = ("check", "gqa", "--seed", "3", "--json")
    report = json.loads(drill(*command, cwd=tmp_path, code=1).stdout)
    assert report["schema"] == "attn-drill.report/1"
    assert (report["challenge"], report["file"], report["verdict"]) == ("gqa", "gqa.py", "failed")
    assert report["stdout"] == "hi\n"
    assert isinstance(report["seed"], int)
    assert report["elapsed_seconds"] > 0
    failed = next(check for check in report["checks"] if check["status"] == "failed")
    mismatch = failed["mismatch"]
    assert mismatch["tensor"] == "out"
    assert mismatch["kind"] == "value"
    assert mismatch["expected_shape"] == mismatch["actual_shape"] == [2, 5, 42]
    assert 0 < mismatch["mismatched"] <= mismatch["total"] == 420
    assert len(mismatch["max_abs_error_index"]) == 3
    assert {check["status"] for check in report["checks"]} <= {"passed", "failed", "skipped"}
    diagnosis = report["diagnosis"]
    assert [mistake["id"] for mistake in diagnosis["mistakes"]] == ["keys-tiled"]
    assert diagnosis["first_line"] == 1 + LINE
    assert " ".join(sorted(diagnosis)) == (
        "case_number cleared effective_mask first_line first_missed last_reached layout missing "
        "mistakes span"
    )


def test_bad_file_exits_with_2_and_one_sentence(tmp_path: Path) -> None:
    """With --json the sentence is in the object."""
    (tmp_path / "folder.py").mkdir()
    for name, says in (
        ("nowhere.py", "There is no file nowhere.py"),
        ("folder.py", "folder.py is a folder"),
        ("/dev/zero", "not a regular file"),
    ):
        done = drill("check", "gqa", name, cwd=tmp_path, code=2)
        assert done.stdout == ""
        assert says in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        error = json.loads(drill("check", "gqa", name, "--json", cwd=tmp_path, code=2).stdout)
        assert error["verdict"] is None
        assert says in error["error"]


def test_full_disk_is_reported(solved: Path, home: Path) -> None:
    """The file is still graded. The journal is a link to /dev/full."""
    home.mkdir()
    (home / "journal.sqlite3").symlink_to("/dev/full")
    done = drill("check", "rmsnorm", cwd=solved)
    assert done.stdout.startswith("PASSED")
    assert "progress is not kept" in done.stderr


@pytest.mark.thorough
def test_ctrl_c_exits_with_130_and_leaves_no_process(tmp_path: Path) -> None:
    """There is no traceback, and --json gives an object."""
    (tmp_path / "rmsnorm.py").write_text(
        "import os\nprint(os.getpid(), flush=True)\nwhile True:\n    pass\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    words = "-m attn_drill check rmsnorm --json --time-limit 60".split()
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    # Wait for the fork server and a worker process.
    while len(list(descendants(process.pid))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert json.loads(stdout)["verdict"] is None
    alive = subprocess.run(
        ["ps", "-eo", "args"], capture_output=True, text=True, check=False
    ).stdout
    assert str(tmp_path) not in alive
    assert "--time-limit 60" not in alive


def test_traceback_has_only_lines_of_the_learner(solved: Path) -> None:
    """Lines of the grader and of torch are left out."""
    wrong = "mean_square = wide.square() @ wide.new_ones(1, 2, 3)"
    (solved / "rmsnorm.py").write_text(re.sub("mean_square = .*", wrong, NORM))
    done = drill("check", "rmsnorm", cwd=solved, code=1)
    assert wrong in done.stdout
    assert "site-packages" not in done.stdout
    assert "attn_drill/" not in done.stdout
    assert done.stdout.startswith("ERROR")


def test_check_shows_the_line_and_the_likely_mistake(tiled: Path) -> None:
    """The command of the report names the case."""
    shown = drill("check", "gqa", "gqa.py", "--seed", "3", cwd=tiled, code=1).stdout
    assert f"line {LINE}" in shown
    assert "LIKELY" in shown
    assert "The key heads are tiled" in shown
    assert shown.index("LIKELY") < shown.index(f"line {LINE}") < shown.index("seed 3 --case")
    assert "ruled out" in shown
    assert f"❯ {LINE} │ k = k.repeat(" in shown
    assert "errors of out: heads (H) by positions (L)" in shown
    # gqa.py is the file that the commands find by themselves.
    assert "this case again  attn-drill check gqa --seed 3 --case 1" in shown.splitlines()


@pytest.fixture(scope="module")
def check_sums(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that runs `check` without an ID, and returns its output.

    The output goes into a pipe of 50 columns. The challenge that was started last is of a small
    pack. Its file has a known mistake and prints a long line.
    """
    folder = tmp_path_factory.mktemp("sums")
    environment: dict[str, Any] = {"ATTN_DRILL_HOME": str(folder / "home"), "COLUMNS": "50"}
    for arguments in (["prefix-sum", "--pack", str(TINY_PACK)], ["gqa"]):
        drill("start", *arguments, cwd=folder, **environment)
    # A start of a file that is there goes on with the file.
    drill("start", "prefix-sum", "--pack", str(TINY_PACK), cwd=folder, **environment)
    source = (TINY_PACK / "solutions" / "prefix_sum" / "solution.py").read_text()
    last = "    return torch.cumsum(x, dim=-1)\n"
    assert source.endswith(last)
    wrong = "    print('x' * 120 + '  ')\n    return torch.cumsum(x, dim=0)  # " + "long " * 20
    (folder / "prefix_sum.py").write_text(source.replace(last, wrong))

    def command(*options: str) -> str:
        arguments = ("--pack", str(TINY_PACK), "--seed", "3", *options)
        return drill("check", *arguments, cwd=folder, code=1, **environment).stdout

    return command


@pytest.fixture(scope="module")
def hints_first(check_sums: Callable[..., str]) -> str:
    """Return the output of `check --hints-first`."""
    return check_sums("--hints-first")


def test_check_without_an_id_grades_the_challenge_started_last(hints_first: str) -> None:
    """A second start counts too, although it keeps the file. The file is found as with an ID."""
    assert hints_first.startswith("FAILED  prefix-sum ")
    assert hints_first.splitlines()[1] == "prefix_sum.py"


def test_hints_first_shows_place_line_question_and_cause(hints_first: str) -> None:
    """Nobody can press a key in a pipe, so all parts follow one another in this order."""
    parts = (
        "values of out differ",
        "errors of out: ",
        "❯",
        "QUESTION  Which dim is L?",
        "LIKELY  The sum runs over the batch.",
        "\nthis case again:\n",
    )
    assert [part for part in parts if hints_first.count(part) != 1] == []
    found = [hints_first.index(part) for part in parts]
    assert found == sorted(found)
    assert "Any key" not in hints_first
    assert "check again with --why" not in hints_first


def test_commands_are_whole_lines_with_their_options(hints_first: str) -> None:
    """A command leaves FILE out if it finds the file, and has the pack. No newline breaks it."""
    pack = f" --pack {TINY_PACK}"
    again = f"prefix-sum --seed 3 --case 1{pack}"
    assert hints_first.splitlines()[-8:] == [
        "this case again:",
        f"  attn-drill check {again}",
        "line by line:",
        f"  attn-drill trace {again}",
        "in a debugger:",
        f"  attn-drill repro {again}",
        "a hint:",
        f"  attn-drill hint prefix-sum{pack}",
    ]


def test_lines_of_a_pipe_end_without_blanks_and_fit_its_columns(hints_first: str) -> None:
    """Only commands may be longer. A long line of code is cut to one row."""
    lines = hints_first.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert [line for line in lines if len(line) > 50 and "attn-drill" not in line] == []
    (marked,) = (line for line in lines if line.startswith("❯"))
    assert len(marked) == 50
    assert marked.endswith("…")


def test_long_printed_line_keeps_its_bar(hints_first: str) -> None:
    """Every row of it begins with a bar."""
    rows = [line for line in hints_first.splitlines() if "xxxx" in line]
    assert rows == [f"│ {'x' * 48}", f"│ {'x' * 48}", f"│ {'x' * 24}"]


@pytest.mark.thorough
def test_hints_first_hides_the_mistake_with_no_why(check_sums: Callable[..., str]) -> None:
    """The place, the line and the question are shown."""
    text = check_sums("--hints-first", "--no-why")
    assert "❯" in text
    assert "LIKELY" not in text


def test_no_why_hides_the_mistake(check_sums: Callable[..., str]) -> None:
    """The line is shown, and the sentence has the option that shows the mistake."""
    text = check_sums("--no-why")
    assert "❯" in text
    assert "The sum runs over the batch" not in text
    sentence = "The likely mistake is known: check again with --why to see it."
    assert sentence in " ".join(text.split())


def test_check_without_an_id_needs_a_start(tmp_path: Path) -> None:
    """The exit code is 2, and the sentence has the next step."""
    (tmp_path / "gqa.py").write_text("x = 1\n")
    for arguments in (["check"], ["check", "--hints-first"]):
        done = drill(*arguments, cwd=tmp_path, code=2)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert "No challenge was started yet" in done.stderr
        assert "`attn-drill start ID`" in done.stderr
    error = json.loads(drill("check", "--json", cwd=tmp_path, code=2).stdout)
    assert error["verdict"] is None
    assert "No challenge was started yet" in error["error"]


def test_name_of_a_file_is_enough_if_it_names_the_challenge(tmp_path: Path) -> None:
    """Another file name is refused, even if a challenge was started."""
    (tmp_path / "rmsnorm.py").write_text("def nothing(:\n")
    assert "does not parse" in drill("check", "rmsnorm.py", cwd=tmp_path, code=1).stdout
    done = drill("check", "answer.py", cwd=tmp_path, code=2)
    assert "answer.py is the name of a file" in done.stderr
    assert "`ID answer.py`" in done.stderr


@pytest.mark.thorough
def test_check_of_the_file_of_a_hunt_counts_as_a_hunt(tmp_path: Path, home: Path) -> None:
    """The mistake is hidden until --why or a pass.

    The pass is not a pass of the challenge.
    """
    drill("hunt", "rmsnorm", "--seed", "5", cwd=tmp_path)
    command = ("check", "rmsnorm", "rmsnorm_hunt.py")
    failed = drill(*command, cwd=tmp_path, code=1).stdout
    assert "LIKELY" not in failed
    assert "LIKELY" in drill(*command, "--why", cwd=tmp_path, code=1).stdout
    assert "attn-drill check rmsnorm rmsnorm_hunt.py --seed " in failed
    (tmp_path / "rmsnorm_hunt.py").write_text(NORM)
    passed = drill(*command, cwd=tmp_path).stdout
    assert "The bug: " in passed
    assert "The bug: " not in failed
    assert re.search(r"(?m)^rmsnorm .* new +RMSNorm$", drill("list", cwd=tmp_path).stdout)
    assert {attempt.purpose for attempt in counted_attempts(Journal(home).facts())} == {"hunt"}
    assert rated_reviews(Journal(home).facts()) == []


@pytest.mark.thorough
def test_unfinished_file_is_not_an_attempt(tmp_path: Path, home: Path) -> None:
    """The file is graded. A finished wrong answer counts at once."""
    file = tmp_path / "rmsnorm.py"
    drill("start", "rmsnorm", cwd=tmp_path)
    for text in (pack_reader.stub(RMSNORM), NORM + "(", NORM.replace("def forward", "def run")):
        file.write_text(text)
        shown = drill("check", "rmsnorm", cwd=tmp_path, code=1).stdout
        assert "Not counted as an attempt: the file " in shown
    assert Journal(home).facts(Attempted) == []
    for factor in (2, 3):
        file.write_text(NORM.replace("* self.weight", f"* self.weight * {factor}"))
        assert "Not counted" not in drill("check", "rmsnorm", cwd=tmp_path, code=1).stdout
    file.write_text(NORM)
    drill("check", "rmsnorm", cwd=tmp_path)
    verdicts = [attempt.verdict for attempt in counted_attempts(Journal(home).facts())]
    assert verdicts == ["failed", "failed", "passed"]
    assert since_start(Journal(home).facts(subject="rmsnorm")).failed == 2


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """Return a folder with a copy of the tiny pack, and a right answer that reads a value."""
    shutil.copytree(TINY_PACK, tmp_path / "pack")
    source = pack_reader.solution(pack_reader.find_challenge(TINY_PACK, "prefix-sum"))
    (tmp_path / "sum.py").write_text(f"{source}\n\n_usual = prefix_sum\n\n\n{READS_A_VALUE}")
    return tmp_path


READS_A_VALUE = """def prefix_sum(x, *more, **named):
    assert (x == x).all()
    return _usual(x, *more, **named)
"""
_SUM = ("check", "prefix-sum", "sum.py", "--pack", "pack")


@pytest.mark.thorough
def test_notes_come_after_the_verdict_on_a_terminal(
    sums: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe has none. A challenge without answers offers no follow-up questions."""
    plain = drill(*_SUM, cwd=sums).stdout
    assert "passed" in plain.split("reference")[-1], "the line about the next steps"
    assert "interviewer" not in plain
    assert "follow-up" not in plain
    monkeypatch.setattr(_check, "is_terminal", lambda: True)
    text = drill(*_SUM, cwd=sums).stdout
    assert text.startswith("PASSED")
    assert text.index("comes back") < text.index("What an interviewer would say")
    assert "assert (x == x).all()\n  Python reads a value of a tensor here" in text
    report = json.loads(drill(*_SUM, "--json", cwd=sums).stdout)
    assert (report["verdict"], report["diagnosis"]) == ("passed", None)
    (sums / "sum.py").write_text("def prefix_sum(x, reverse=False):\n    return x\n")
    assert "interviewer" not in drill(*_SUM, cwd=sums, code=1).stdout


def test_pack_whose_realistic_call_is_broken_changes_no_exit_code(
    sums: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict stays, and the sentence names the file."""
    monkeypatch.setattr(_check, "is_terminal", lambda: True)
    with (sums / "pack" / "challenges" / "prefix_sum" / "cases.py").open("a") as file:
        file.write("\n\ndef realistic():\n    return 1 / 0\n")
    text = drill(*_SUM, cwd=sums).stdout
    assert "The answer could not be measured: " in text
    assert re.search(r"cases\.py, line \d+: realistic\(\) raises ZeroDivisionError", text)


def test_pass_offers_the_follow_up_questions_of_the_challenge(solved: Path) -> None:
    """The command works as it is shown."""
    text = drill("check", "rmsnorm", cwd=solved).stdout
    assert "attn-drill quiz --follow-up rmsnorm" in text.splitlines()[-1]
    assert drill("quiz", "--follow-up", "rmsnorm", cwd=solved).returncode == 0


@pytest.mark.parametrize(
    ("why", "is_hunt", "stage"),
    [
        (None, False, "cause"),
        (False, False, "line"),
        (None, True, "where"),
        (False, True, "where"),
        (True, True, "cause"),
    ],
)
def test_hunt_hides_the_line_and_the_mistake(why: bool | None, is_hunt: bool, stage: str) -> None:
    """To find them is its task."""
    assert stage_of(why, is_hunt=is_hunt) == stage


@each_row(
    "keys, parts",
    {"q": ("q", 0), "escape": ("\x1b", 0), "a key, then Q": (" Q", 1), "all parts": ("\r w", 3)},
)
def test_key_shows_the_next_part_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keys: str, parts: int
) -> None:
    """The prompt has the next part in words. q and Escape stop."""
    typed = iter(keys)
    monkeypatch.setattr("typer.getchar", lambda: next(typed))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown = [wait_for_key(words) for words in ("the line", "a question", "why")[: len(keys)]]
    assert shown == [True] * parts + [False] * (len(keys) - parts)
    text = capsys.readouterr().out
    assert text.count("Any key shows ") == len(keys)
    assert "\nAny key shows the line; q stops. \n" in text
