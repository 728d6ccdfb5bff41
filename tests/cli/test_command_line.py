"""The command line: columns, the beginning of commands, shared parameters, and errors."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from attn_drill.cli import _command_line
from attn_drill.cli._command_line import in_columns
from attn_drill.cli._commands import app
from attn_drill.cli.entry import will_grade
from attn_drill.model.errors import GraderError
from attn_drill.packs import pack_reader
from attn_drill.sandbox.isolation import children
from tests.support.cli import BUILT_IN, GQA, Run, drill
from tests.support.packs import BANK, make_pack
from tests.support.paths import SOURCE
from tests.support.rows import each_row

ROWS = [["a", "10", "new", "A title of several words that is long"], ["bcd", "5", "old", ""]]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            80,
            [
                "id   min  state  title",
                "a     10  new    A title of several words that is long",
                "bcd    5  old",
            ],
        ),
        (
            47,
            [
                "id   min  state  title",
                "a     10  new    A title of several words that",
                "                 is long",
                "bcd    5  old",
            ],
        ),
        (
            30,
            [
                "id   min  state",
                "a     10  new",
                "  A title of several words",
                "  that is long",
                "bcd    5  old",
            ],
        ),
    ],
)
def test_prose_is_beside_the_cells_or_below_them(width: int, lines: list[str]) -> None:
    """Numbers are at the right of their column. No line is wider than the terminal."""
    assert list(in_columns(["id", "min", "state", "title"], ROWS, width)) == lines


def test_colours_take_no_columns() -> None:
    """Only the cell is coloured."""
    coloured = list(in_columns(["id", "min", "state", "title"], ROWS, 80, {"new": "blue"}))
    assert coloured[1].startswith("a     10  \x1b[34mnew\x1b[0m    A title")
    assert coloured[2:] == list(in_columns(["id", "min", "state", "title"], ROWS, 80))[2:]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_is_shown_without_link_targets(
    run: Run, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    """The page is in the learner's language."""
    monkeypatch.setenv("ATTN_DRILL_LANG", language)
    code, out, _ = run("conventions")
    page = pack_reader.conventions(language)
    assert code == 0
    assert out.startswith(page[:200])
    assert "../challenges/" in page
    assert "../challenges/" not in out
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        line for line in out.splitlines() if line.startswith("#")
    ]


def test_only_what_matters_for_a_challenge_is_shown(run: Run) -> None:
    """Each section that is shown names the challenge, and the page has others."""
    _, out, _ = run("conventions", "gqa")
    sections = re.split(r"(?m)^### ", out)[1:]
    assert 2 <= len(sections) < pack_reader.conventions().count("\n### ")
    assert all("[gqa]" in section for section in sections)
    _, out, _ = run("conventions", "gqa", "--json")
    printed = json.loads(out)
    assert (printed["schema"], printed["challenge"]) == ("attn-drill.conventions/1", "gqa")
    assert [section.splitlines()[0] for section in printed["sections"]] == [
        f"### {section.splitlines()[0]}" for section in sections
    ]


def test_challenge_without_conventions(run: Run) -> None:
    """A challenge that the page does not name is no error, but an unknown challenge is."""
    code, out, _ = run("conventions", "swiglu")
    assert (code, out) == (0, "The page of conventions has nothing about swiglu.\n")
    assert json.loads(run("conventions", "swiglu", "--json")[1])["sections"] == []
    code, _, err = run("conventions", "nope")
    assert code == 2
    assert "nope" in err


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_link_leads_to_a_prompt(language: str) -> None:
    """Every challenge that the page names has an address, and the file exists."""
    page = pack_reader.conventions(language)
    targets = dict(re.findall(r"(?m)^\[([a-z-]+)\]: (\S+)$", page))
    named = set(re.findall(r"\[([a-z][a-z-]+)\](?![:(])", page))
    assert named == targets.keys()
    docs = pack_reader.built_in_pack() / "docs"
    assert all((docs / target).is_file() for target in targets.values())


def has_torch(pid: int) -> bool:
    """Return whether a child of a process, its grading server, has opened torch's files."""
    with suppress(OSError):
        return any("torch" in Path(f"/proc/{child}/maps").read_text() for child in children(pid))
    return False


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows that torch is being imported")
@pytest.mark.parametrize("seconds", [0.0, 0.4, 0.8])
def test_ctrl_c_during_the_import_of_torch_exits_with_130(tmp_path: Path, seconds: float) -> None:
    """The signal comes `seconds` after torch's files were opened. There is no traceback."""
    (tmp_path / "gqa.py").write_text("while True:\n    pass\n")
    command = [sys.executable, "-m", "attn_drill", "check", "gqa"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not has_torch(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "gqa"], True),
        (["check", "--seed", "3", "gqa"], True),
        (["check", "gqa", "--help"], False),
        (["trace", "gqa"], True),
        (["doctor"], False),
        (["start", "gqa"], False),
        ([], False),
    ],
)
def test_a_grading_server_starts_before_the_command_line_is_read(
    arguments: list[str], expected: bool
) -> None:
    """Help and light commands start no server."""
    assert will_grade(arguments) is expected


@pytest.mark.sampled(4)
@each_row(
    "arguments, says",
    {
        "unknown id": (["check", "gqq"], "Did you mean gqa"),
        "no file yet": (["check", "gqa"], "attn-drill start gqa"),
        "no time": (
            ["check", "gqa", "gqa.py", "--time-limit", "0"],
            "Invalid value for '--time-limit'",
        ),
        "no memory": (
            ["check", "gqa", "gqa.py", "--memory-limit", "1"],
            "Invalid value for '--memory-limit'",
        ),
        "negative seed": (["check", "gqa", "gqa.py", "--seed", "-1"], "--seed is -1"),
        "no such case": (["check", "gqa", "gqa.py", "--case", "99"], "--case 99 does not exist"),
        "seed that is not a number": (
            ["check", "gqa", "gqa.py", "--seed", "x"],
            "'x' is not a valid int",
        ),
        "no id": (["hint"], "Missing argument"),
        "no such command": (["chekc"], "No such command 'chekc'"),
        "start unknown": (["start", "gqq"], "Did you mean gqa"),
        "no pack": (["pack", "check", "/nowhere"], "challenges cannot be read"),
    },
)
def test_usage_error_exits_with_2_and_one_sentence(
    tmp_path: Path, arguments: list[str], says: str
) -> None:
    """The sentence has the wrong value and the next step."""
    if "gqa.py" in arguments:
        (tmp_path / "gqa.py").write_text(pack_reader.solution(GQA))
    done = drill(*arguments, cwd=tmp_path, code=2)
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("check --json", {"schema", "verdict", "error"}),
        ("check gqa --json --seed x", {"schema", "verdict", "error"}),
        ("--pack nowhere check gqa --json", {"schema", "verdict", "error"}),
        ("check gqa --json --pack nowhere", {"schema", "verdict", "error"}),
        ("--pack . check --json --nope", {"schema", "verdict", "error"}),
        ("stats --json --nope", {"error"}),
        ("list --json --pack nowhere", {"error"}),
        ("tools compare --json --preset nobody", {"error"}),
    ],
)
def test_error_with_json_is_one_object(line: str, keys: set[str], run: Run) -> None:
    """An error of `check` is a report without a verdict."""
    code, out, err = run(*line.split())
    assert (code, err) == (2, "")
    error = json.loads(out)
    assert error.keys() == keys
    assert error.get("verdict") is None
    assert error["error"].endswith((".", "`"))


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (GraderError("The grader is lost."), 3, "The grader is lost."),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (ZeroDivisionError("oops"), 3, "this is a bug in attn-drill"),
    ],
    ids=["grader", "Ctrl-C", "bug"],
)
def test_other_errors(
    raised: BaseException, code: int, says: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --json they are objects too. Only a bug has a traceback."""

    def fail() -> None:
        raise raised

    monkeypatch.setattr(_command_line, "default_journal", fail)
    got, out, err = run("list", "--json")
    assert got == code
    assert says in json.loads(out)["error"]
    assert ("Traceback" in err) == isinstance(raised, ZeroDivisionError)
    assert run("list")[0] == code


def test_fault_of_the_settings_is_an_object_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The packs are looked for after the options of the command are known."""
    monkeypatch.setenv("ATTN_DRILL_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text('levl = "guided"\n')
    code, printed, _ = run("list", "--json")
    assert code == 2
    assert "`levl` is not a key" in json.loads(printed)["error"]


def test_commands_that_use_challenges_take_the_pack_option(run: Run) -> None:
    """The program takes it before the command's name too."""
    program = get_command(app)
    assert isinstance(program, TyperGroup)
    assert "--pack DIR" in run("--help")[1]
    for name, command in program.commands.items():
        if not isinstance(command, TyperGroup):
            assert "--pack DIR" in run(name, "--help")[1], name
    assert "--pack DIR" in run("pack", "check", "--help")[1]
    assert run("export", "--pack", ".")[0] == 2


@pytest.mark.thorough
@pytest.mark.parametrize("before", [True, False], ids=["before the command", "after it"])
def test_every_command_without_torch_finds_the_pack(before: bool, tmp_path: Path, run: Run) -> None:
    """The option works before and after the command's name, and only for this call."""
    pack = make_pack(tmp_path / "mine", "extra")
    (pack / "challenges" / "_questions").mkdir()
    (pack / "challenges" / "_questions" / "own.toml").write_text(BANK.format("Own", "own"))

    def output(*arguments: str) -> str:
        option = ["--pack", str(pack)]
        code, out, err = run(*([*option, *arguments] if before else [*arguments, *option]))
        assert code == 0, err
        return out

    (line,) = (line for line in output("list").splitlines() if line.startswith("extra "))
    assert "mine" in line
    packs = {item["id"]: item["pack"] for item in json.loads(output("list", "--json"))}
    assert (packs["extra"], packs["gqa"]) == ("mine", None)
    assert f"attn-drill check extra --pack {pack}" in output("start", "extra")
    assert Path("extra.py").read_text() == pack_reader.stub(
        pack_reader.find_challenge(pack, "extra")
    )
    assert "Hint 1 of 3: Add." in output("hint", "extra")
    assert "extra.old-1.py" in output("reset", "extra")
    assert "torch.cumsum" in output("solution", "extra", "--give-up")
    assert f"attn-drill check extra extra_hunt.py --pack {pack}" in output("hunt", "extra")
    assert "extra" in output("review", "--list")
    count = json.loads(output("stats", "--json"))["challenges"]
    assert count == len(pack_reader.read_pack(BUILT_IN)) + 1
    listed = output("quiz", "--list")
    assert "own  " in listed
    assert "extra  " in listed
    assert run("hint", "extra")[0] == 2
    assert "extra" not in run("list")[1]


def test_option_and_variable_may_name_several_packs(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All named packs are known, and a pack that was typed earlier wins."""
    first, second, third, fourth = (
        make_pack(tmp_path / name, "shared", name) for name in ("one", "two", "three", "four")
    )
    monkeypatch.setenv("ATTN_DRILL_PACK", str(fourth))
    code, out, err = run(
        "--pack", str(first), "--pack", str(second), "list", f"--pack={third}", "--json"
    )
    assert code == 0
    assert {item["pack"] for item in json.loads(out)} == {None, "one", "two", "three", "four"}
    assert [item["pack"] for item in json.loads(out) if item["id"] == "shared"] == ["one"]
    assert err.count(f"is hidden: {first / 'challenges/shared'}") == 3
    assert run("hint", "four")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [["list"], ["hint", "gqa"], ["doctor"], ["pack", "check"], ["interview", "--fresh"]],
    ids=" ".join,
)
def test_folder_that_is_not_a_pack_is_a_usage_error(arguments: list[str], run: Run) -> None:
    """The command exits with 2 and one sentence, even if another pack has the challenge."""
    code, _, err = run(*arguments, "--pack", "nowhere")
    assert code == 2
    assert "nowhere" in err
    assert len(err.splitlines()) == 1


def test_completion_knows_the_packs_of_the_line(tmp_path: Path) -> None:
    """The shell completes ids, also of a pack of the line. A bad `--pack` prints nothing."""
    pack = make_pack(tmp_path / "mine", "extra")
    script = "import sys; sys.argv = ['attn-drill']; from attn_drill.cli.entry import main; main()"

    def completed(line: str) -> subprocess.CompletedProcess[str]:
        words = {
            "_ATTN_DRILL_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
        }
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), **words}
        return subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

    for line in (f"attn-drill --pack {pack} start ex", f"attn-drill start --pack {pack} ex"):
        assert completed(line).stdout.split() == ["extra"]
    assert "gqa" in completed("attn-drill start g").stdout
    bad = completed("attn-drill --pack nowhere start ex")
    assert (bad.stdout.strip(), bad.stderr) == ("", "")
