"""The commands as a user types them: what they print, where, and the exit code."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.paths import TINY_PACK
from trainer import __version__
from trainer.packs import pack_reader
from trainer.sandbox.isolation import descendants

ROOT = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(ROOT, "gqa")
LIGHT = [
    *(
        ["list"],
        ["--help"],
        ["start", "gqa"],
        ["hint", "gqa"],
        ["solution", "gqa", "--give-up"],
        ["reset", "gqa"],
        ["--version"],
        ["list", "--json"],
    ),
    *(
        ["review", "--list"],
        ["review"],
        ["quiz", "--list"],
        ["hunt", "gqa"],
        ["compare"],
        ["export"],
    ),
]


def drill(
    *arguments: str, cwd: Path, code: int | None = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run attn-drill in a folder; its output and exit code."""
    done = forked.run(
        arguments, cwd, {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), **environment}
    )
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """A folder with a right gqa.py."""
    (tmp_path / "gqa.py").write_text(pack_reader.solution(GQA))
    return tmp_path


@pytest.mark.parametrize("arguments", LIGHT, ids=[" ".join(one) for one in LIGHT])
def test_light_commands_import_no_torch(arguments: list[str], tmp_path: Path, home: Path) -> None:
    """A command that needs no torch does not import torch, numpy, Jinja, or (in a pipe) rich."""
    script = (
        "import sys, os; from trainer.cli import commands; sys.argv = ['attn-drill', *sys.argv[1:]]; code = commands._run(); sys.stdout.flush();"
        "print(sorted(set(sys.modules) & {'torch', 'numpy', 'rich', 'jinja2'}), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"
    assert done.stdout


def test_version_and_help(tmp_path: Path) -> None:
    """--version, and a help that names every command."""
    assert drill("--version", cwd=tmp_path).stdout.strip() == f"attn-drill {__version__}"
    text = drill("--help", cwd=tmp_path).stdout
    for command in (
        *"list start check hint solution reset review stats hunt quiz interview compare heads export import pack doctor".split(),
        "--install-completion",
    ):
        assert command in text


def test_list_shows_state_and_fits_narrow_terminals(solved: Path) -> None:
    """Level, minutes, state and prerequisites; under 60 columns where it must be."""
    assert re.search(r"gqa +medium +20 +new +mha", drill("list", cwd=solved).stdout)
    drill("check", "gqa", cwd=solved)
    assert re.search(r"gqa +medium +20 +passed", drill("list", cwd=solved).stdout)
    for columns in (80, 59, 50, 44):
        lines = drill("list", cwd=solved, COLUMNS=str(columns)).stdout.splitlines()
        assert max(len(line) for line in lines) <= columns
        for one in pack_reader.read_pack(pack_reader.built_in_pack()):
            (place,) = (
                number for number, line in enumerate(lines) if line.startswith(f"{one.id} ")
            )
            own = " ".join(lines[place : place + 3])
            assert re.search(rf"{one.level} +{one.minutes} +(new|started|passed)", lines[place])
            assert all(other in own for other in one.builds_on)
    assert {
        one["id"]: one["state"] for one in json.loads(drill("list", "--json", cwd=solved).stdout)
    }["gqa"] == "passed"


def read_all(terminal: int) -> str:
    """All that was written to a terminal whose other end is closed; one read may give a part of it. Linux ends it with an error."""
    found = b""
    with os.fdopen(terminal, "rb", buffering=0) as screen, contextlib.suppress(OSError):
        while part := screen.read(4096):
            found += part
    return found.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is needed")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_list_on_a_terminal(solved: Path, no_color: str) -> None:
    """States are coloured on a terminal, and not with NO_COLOR."""
    drill("start", "gqa", cwd=solved)
    command = [sys.executable, "-m", "trainer", "list"]
    mine, its = os.openpty()
    subprocess.run(
        command,
        cwd=solved,
        env={**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), "NO_COLOR": no_color},
        stdout=its,
        check=True,
    )
    os.close(its)
    shown = read_all(mine)
    assert "started" in shown
    assert ("\x1b[" in shown) == (not no_color)


def test_alone_it_lists(tmp_path: Path) -> None:
    """Without a command, into a pipe, the list."""
    assert drill(cwd=tmp_path).stdout == drill("list", cwd=tmp_path).stdout


def test_start_never_writes_over_work(tmp_path: Path) -> None:
    """The stub once; then the learner's file is left alone and `reset` is named."""
    first = drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA)
    assert "Grouped-query attention" in first.stdout
    (tmp_path / "gqa.py").write_text("my work\n")
    again = drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == "my work\n"
    assert "attn-drill reset gqa" in again.stdout


def test_start_in_another_folder_and_language(tmp_path: Path) -> None:
    """--dir makes the folder; check finds the stub where it was put; the prompt comes in Chinese."""
    done = drill("start", "gqa", "--dir", "deep/er", cwd=tmp_path, ATTN_DRILL_LANG="zh")
    assert "分组" in done.stdout
    assert (tmp_path / "deep/er/gqa.py").exists()
    report = json.loads(drill("check", "gqa", "--json", cwd=tmp_path, code=1).stdout)
    assert report["file"].endswith("deep/er/gqa.py")


def test_reset_keeps_the_old_file(tmp_path: Path) -> None:
    """Every reset keeps one more file, and none is lost."""
    drill("start", "gqa", cwd=tmp_path)
    for text in ("one\n", "two\n"):
        (tmp_path / "gqa.py").write_text(text)
        drill("reset", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.old-1.py").read_text() == "one\n"
    assert (tmp_path / "gqa.old-2.py").read_text() == "two\n"
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA)


def test_hints_come_one_by_one(tmp_path: Path) -> None:
    """Three levels, each asked for; a level that is none is refused."""
    texts = [drill("hint", "gqa", cwd=tmp_path).stdout for _ in range(4)]
    assert [text[:6] for text in texts] == ["Hint 1", "Hint 2", "Hint 3", "Hint 3"]
    assert GQA.hints[0] in drill("hint", "gqa", "--level", "1", cwd=tmp_path).stdout
    assert "hints 1 to 3" in drill("hint", "gqa", "--level", "4", cwd=tmp_path, code=2).stderr


def test_solution_only_after_a_pass_or_given_up(solved: Path) -> None:
    """The reference is not shown before; the refusal says what to do."""
    refused = drill("solution", "gqa", cwd=solved, code=2)
    assert refused.stdout == ""
    assert "--give-up" in refused.stderr
    assert (
        drill("solution", "gqa", "--give-up", cwd=solved).stdout.strip()
        == pack_reader.solution(GQA).strip()
    )
    drill("check", "gqa", cwd=solved)
    assert drill("solution", "gqa", cwd=solved).stdout.strip() == pack_reader.solution(GQA).strip()


def test_check_passes_and_fails(solved: Path) -> None:
    """Exit codes 0 and 1, verdict first."""
    assert drill("check", "gqa", cwd=solved).stdout.startswith("PASSED  gqa")
    (solved / "wrong.py").write_text(
        pack_reader.solution(GQA).replace("math.sqrt(self.head_dim)", "self.head_dim")
    )
    done = drill("check", "gqa", "wrong.py", "--seed", "5", cwd=solved, code=1)
    assert done.stdout.startswith("FAILED  gqa")
    assert "attn-drill check gqa wrong.py --seed 5 --case 1" in done.stdout


def test_the_case_again(solved: Path) -> None:
    """The command that the report gives shows the same numbers again."""
    (solved / "gqa.py").write_text(pack_reader.solution(GQA).replace('float("-inf")', "-100.0"))
    whole = json.loads(drill("check", "gqa", "--json", cwd=solved, code=1).stdout)
    failed = next(one for one in whole["checks"] if one["status"] == "failed")
    again = json.loads(
        drill(
            "check",
            "gqa",
            "--json",
            "--seed",
            str(whole["seed"]),
            "--case",
            str(failed["case_number"]),
            cwd=solved,
            code=1,
        ).stdout
    )
    assert next(one for one in again["checks"] if one["status"] == "failed") == failed


def test_json_is_one_object(solved: Path) -> None:
    """The contract's keys; nothing else on stdout; the learner's prints are inside."""
    (solved / "gqa.py").write_text(
        "print('hi')\n"
        + pack_reader.solution(GQA).replace("math.sqrt(self.head_dim)", "self.head_dim")
    )
    report = json.loads(drill("check", "gqa", "--json", cwd=solved, code=1).stdout)
    assert report["schema"] == "attn-drill.report/1"
    assert (report["challenge"], report["file"], report["verdict"]) == ("gqa", "gqa.py", "failed")
    assert report["stdout"] == "hi\n"
    assert isinstance(report["seed"], int)
    assert report["elapsed_seconds"] > 0
    mismatch = next(one["mismatch"] for one in report["checks"] if one["status"] == "failed")
    assert mismatch["tensor"] == "out"
    assert mismatch["kind"] == "value"
    assert mismatch["expected_shape"] == mismatch["actual_shape"] == [2, 5, 42]
    assert 0 < mismatch["mismatched"] <= mismatch["total"] == 420
    assert len(mismatch["max_abs_error_index"]) == 3
    assert {one["status"] for one in report["checks"]} <= {"passed", "failed", "skipped"}


def write_bad(folder: Path, kind: str) -> str:
    """A path to something that is no submission."""
    path = folder / "bad.py"
    match kind:
        case "missing":
            return "nowhere.py"
        case "folder":
            path.mkdir()
        case "empty":
            path.write_text(" \n")
        case "nul":
            path.write_bytes(b"x = 1\0")
        case "latin-1":
            path.write_bytes("x = 'ä'".encode("latin-1"))
        case "huge":
            with path.open("wb") as file:
                file.truncate(60 << 20)
        case "device":
            return "/dev/zero"
    return "bad.py"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        pytest.param("missing", "There is no file nowhere.py", id="missing"),
        pytest.param("folder", "bad.py is a folder", id="folder"),
        pytest.param("empty", "bad.py is empty", id="empty"),
        pytest.param("nul", "NUL byte at offset 5", id="nul"),
        pytest.param("latin-1", "not UTF-8: byte 0xe4 at offset 5", id="latin-1"),
        pytest.param("huge", "62,914,560 bytes", id="60 MB"),
        pytest.param("device", "not a regular file", id="device"),
    ],
)
def test_bad_files(tmp_path: Path, kind: str, says: str) -> None:
    """One sentence, exit 2, and with --json the object of the contract."""
    name = write_bad(tmp_path, kind)
    done = drill("check", "gqa", name, cwd=tmp_path, code=2)
    assert done.stdout == ""
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    told = json.loads(drill("check", "gqa", name, "--json", cwd=tmp_path, code=2).stdout)
    assert told["verdict"] is None
    assert says in told["error"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_file(solved: Path) -> None:
    """A file without permission: one sentence, exit 2."""
    (solved / "gqa.py").chmod(0)
    assert "cannot be read" in drill("check", "gqa", "gqa.py", cwd=solved, code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["check", "gqq"], "Did you mean gqa", id="unknown id"),
        pytest.param(["check", "gqa"], "attn-drill start gqa", id="no file yet"),
        pytest.param(
            ["check", "gqa", "gqa.py", "--time-limit", "0"], "--time-limit is 0", id="no time"
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--memory-limit", "1"], "--memory-limit is 1", id="no memory"
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--seed", "-1"], "--seed is -1", id="negative seed"
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--case", "99"], "--case 99 is none", id="no such case"
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--seed", "x"],
            "'x' is not a valid int",
            id="seed that is no number",
        ),
        pytest.param(["check"], "Missing argument", id="no id"),
        pytest.param(["chekc"], "No such command 'chekc'", id="no such command"),
        pytest.param(["start", "gqq"], "Did you mean gqa", id="start unknown"),
        pytest.param(["pack", "check", "/nowhere"], "has no folder challenges", id="no pack"),
    ],
)
def test_usage_errors(tmp_path: Path, arguments: list[str], says: str) -> None:
    """Exit 2 and one sentence that says both values and the next step."""
    if "gqa.py" in arguments:
        (tmp_path / "gqa.py").write_text(pack_reader.solution(GQA))
    done = drill(*arguments, cwd=tmp_path, code=2)
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--json"],
        ["check", "gqa", "--json", "--seed", "x"],
        ["check", "gqa", "--json", "--nope"],
    ],
)
def test_usage_errors_with_json(tmp_path: Path, arguments: list[str]) -> None:
    """Even a wrong command line gives the object, if it is `check --json`."""
    told = json.loads(drill(*arguments, cwd=tmp_path, code=2).stdout)
    assert told["verdict"] is None
    assert told["error"]


def test_a_home_that_cannot_be_written(solved: Path) -> None:
    """Grading works; the journal's trouble is said on stderr."""
    (solved / "file").write_text("")
    done = drill("check", "gqa", cwd=solved, ATTN_DRILL_HOME=str(solved / "file" / "home"))
    assert done.stdout.startswith("PASSED")
    assert "progress is not kept" in done.stderr


def test_a_full_disk_costs_no_verdict(solved: Path, home: Path) -> None:
    """/dev/full in the journal's place: grading works and says that the journal does not."""
    home.mkdir()
    (home / "journal.sqlite3").symlink_to("/dev/full")
    done = drill("check", "gqa", cwd=solved)
    assert done.stdout.startswith("PASSED")
    assert "progress is not kept" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells when torch is being imported")
@pytest.mark.parametrize("seconds", [0.0, 0.4, 0.8])
def test_interrupted_at_once(tmp_path: Path, seconds: float) -> None:
    """Ctrl-C while torch is imported, so many seconds after Python was started for it: exit 130, no traceback."""
    (tmp_path / "gqa.py").write_text("while True:\n    pass\n")
    command = [sys.executable, "-m", "trainer", "check", "gqa"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while (
        "torch" not in Path(f"/proc/{process.pid}/maps").read_text() and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while a file hangs: exit 130, no traceback, nothing left running, and an object with --json."""
    (tmp_path / "gqa.py").write_text(
        "import os\nprint(os.getpid(), flush=True)\nwhile True:\n    pass\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)}
    command = [sys.executable, "-m", "trainer", "check", "gqa", "--json", "--time-limit", "60"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while (
        len(list(descendants(process.pid))) < 2 and time.monotonic() < deadline
    ):  # the fork server and a worker
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


def test_a_reader_that_goes_away(solved: Path) -> None:
    """`| head -1` is no crash."""
    command = f"{sys.executable} -m trainer list | head -1"
    done = subprocess.run(
        command,
        shell=True,
        cwd=solved,
        env={**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr


def test_user_frames_only(solved: Path) -> None:
    """A traceback shows the learner's lines and none of the grader's or torch's."""
    (solved / "gqa.py").write_text(
        pack_reader.solution(GQA).replace("scores = q @ k.transpose(-2, -1)", "scores = q @ k")
    )
    done = drill("check", "gqa", cwd=solved, code=1)
    assert "scores = q @ k" in done.stdout
    assert "site-packages" not in done.stdout
    assert "trainer/" not in done.stdout
    assert done.stdout.startswith("ERROR")


@pytest.mark.thorough
def test_pack_check_of_one_challenge(tmp_path: Path) -> None:
    """The table, the count, exit 0; a pack that breaks the rules exits 1 and says which."""
    done = drill(
        "pack",
        "check",
        "--challenge",
        "attention-cost",
        "--seeds",
        "1",
        "--table",
        "table.md",
        cwd=tmp_path,
    )
    assert re.search(r"\| attention-cost +\| float-head-dim +\|", done.stdout)
    assert ", 0 failed (1 challenge, 1 seed)" in done.stdout
    assert (tmp_path / "table.md").read_text().startswith("| challenge")
    tiny = drill(
        "pack",
        "check",
        str(TINY_PACK),
        "--seeds",
        "1",
        cwd=tmp_path,
        code=1,
    )
    assert "has 2 mistakes of at least 12" in tiny.stdout


def test_doctor(tmp_path: Path) -> None:
    """Versions, and what was tried of the isolation."""
    text = drill("doctor", cwd=tmp_path).stdout
    assert "torch 2.13" in text
    assert re.search(r"(held|OPEN)  open a network socket", text)


def test_completion(tmp_path: Path) -> None:
    """The shell completes ids."""
    done = drill(
        cwd=tmp_path,
        code=None,
        _TRAINER_COMPLETE="complete_bash",
        COMP_WORDS="attn-drill start g",
        COMP_CWORD="2",
        _ATTN_DRILL_COMPLETE="complete_bash",
    )
    assert "gqa" in done.stdout


TILED = pack_reader.solution(GQA).replace(
    "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
)


@pytest.fixture
def tiled(tmp_path: Path) -> Path:
    """A folder with a gqa.py whose key heads are tiled."""
    (tmp_path / "gqa.py").write_text(TILED)
    return tmp_path


def test_check_says_where_and_why(tiled: Path) -> None:
    """The line, the mistake's sentence, what is cleared; --no-why holds the mistake back; --json carries all of it."""
    line = next(number for number, text in enumerate(TILED.splitlines(), 1) if "k.repeat(" in text)
    shown = drill("check", "gqa", "gqa.py", "--seed", "3", cwd=tiled, code=1).stdout
    assert f"line {line}" in shown
    assert "LIKELY" in shown
    assert "The key heads are tiled" in shown
    assert "cleared" in shown
    held_back = drill("check", "gqa", "gqa.py", "--seed", "3", "--no-why", cwd=tiled, code=1).stdout
    assert f"line {line}" in held_back
    assert "The key heads are tiled" not in held_back
    found = json.loads(
        drill("check", "gqa", "gqa.py", "--seed", "3", "--json", cwd=tiled, code=1).stdout
    )["diagnosis"]
    assert [one["id"] for one in found["mistakes"]] == ["keys-tiled"]
    assert found["first_line"] == line
    assert found.keys() == {
        "mistakes",
        "first_line",
        "case_number",
        "last_reached",
        "first_missed",
        "layout",
        "effective_mask",
        "cleared",
    }


def test_json_of_a_pass_has_no_diagnosis(solved: Path) -> None:
    """Null, as of everything that does not apply."""
    assert (
        json.loads(drill("check", "gqa", "gqa.py", "--json", cwd=solved).stdout)["diagnosis"]
        is None
    )


def test_trace_shows_every_line_beside_the_reference(tiled: Path) -> None:
    """What a line makes, and which of the reference's results that is; not the reference's code."""
    shown = drill("trace", "gqa", "gqa.py", "--seed", "3", "--case", "1", cwd=tiled).stdout
    assert re.search(r"q = self\.q_proj.*\n.*\[B=2, L=5, H=6, D=7\] float32 .*= q", shown)
    assert re.search(r"v = v\.repeat_interleave.*\n.*= v", shown)
    assert not re.search(r"k = k\.repeat\(1.*\n.*= k", shown)
    assert "k.repeat_interleave" not in shown


def test_trace_without_a_case_takes_the_failing_one(tiled: Path) -> None:
    """By default the seed of the last attempt and the case that its report explains."""
    number = json.loads(drill("check", "gqa", "gqa.py", "--json", cwd=tiled, code=1).stdout)
    first = next(one["case_number"] for one in number["checks"] if one["status"] == "failed")
    assert drill("trace", "gqa", "gqa.py", cwd=tiled).stdout.startswith(f"case {first}:")
    assert f"seed {number['seed']}" in " ".join(
        drill("trace", "gqa", "gqa.py", cwd=tiled).stdout.split()
    )


def test_trace_of_what_raises_says_so(tmp_path: Path) -> None:
    """The lines up to the exception, then the exception."""
    (tmp_path / "gqa.py").write_text(
        TILED.replace("weights = self.dropout(weights)", "weights = weights @ weights[0, 0, 0]")
    )
    shown = drill("trace", "gqa", "gqa.py", "--seed", "3", "--case", "1", cwd=tmp_path).stdout
    assert "RuntimeError" in shown.splitlines()[-2] + shown.splitlines()[-1] + shown
    assert "torch.softmax" in shown


def test_repro_runs_and_gives_the_same_numbers(tiled: Path) -> None:
    """The script runs by itself and prints the learner's outputs; a file that is not ours is left alone."""
    report = json.loads(
        drill("check", "gqa", "gqa.py", "--seed", "3", "--json", cwd=tiled, code=1).stdout
    )
    failing = next(one for one in report["checks"] if one["status"] == "failed")
    told = drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=tiled).stdout
    assert f"Case {failing['case_number']} with seed 3" in told
    environment = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)}
    done = subprocess.run(
        [sys.executable, "gqa_repro.py"],
        cwd=tiled,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"out {tuple(failing['mismatch']['actual_shape'])}")
    assert "expected" not in (tiled / "gqa_repro.py").read_text()
    (tiled / "gqa_repro.py").write_text("mine = 1\n")
    refused = drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=tiled, code=2)
    assert "Move it away first" in refused.stderr
    assert (tiled / "gqa_repro.py").read_text() == "mine = 1\n"


def test_repro_calls_arguments_with_other_names(tmp_path: Path) -> None:
    """The script binds the contract's names to the learner's."""
    source = pack_reader.solution(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"))
    source = source.replace("x, mask=None", "inputs, attn_mask=None")
    head = "x, mask = inputs, attn_mask\n        batch, length, d_model = x.shape"
    source = source.replace("batch, length, d_model = x.shape", head)
    source = source.replace("num_kv_heads, dropout=0.0", "num_kv_heads, p=0.0")
    (tmp_path / "gqa.py").write_text(source.replace("nn.Dropout(dropout)", "nn.Dropout(p)"))
    drill("repro", "gqa", "gqa.py", "--seed", "3", "--case", "10", cwd=tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)}
    script = [sys.executable, "gqa_repro.py"]
    done = subprocess.run(
        script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("out (")


def test_repro_of_a_pass_says_so(solved: Path) -> None:
    """Nothing fails, so nothing is written; a named case is."""
    assert (
        "nothing fails there"
        in drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=solved, code=2).stderr
    )
    assert not (solved / "gqa_repro.py").exists()
    drill("repro", "gqa", "gqa.py", "--seed", "3", "--case", "2", cwd=solved)
    assert (solved / "gqa_repro.safetensors").exists()
