"""The command line: its commands, usage errors, `--pack`, and imports."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.cli import GQA, drill
from tests.support.paths import TINY_PACK
from trainer import __version__
from trainer.cli.commands import app
from trainer.packs import pack_reader

CLI = pack_reader.TRAINER / "cli"


def imported_from_cli(path: Path) -> set[str]:
    """Return the modules of trainer/cli that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if node.module == "trainer.cli":
            names |= {alias.name for alias in node.names}
        elif node.module.startswith("trainer.cli."):
            names.add(node.module.removeprefix("trainer.cli."))
    return names


def test_only_the_command_line_imports_commands() -> None:
    """Functions for several commands are in helper modules."""
    helpers = {"menu", "parameters", "practise"}
    commands = imported_from_cli(CLI / "commands.py") - helpers
    assert {"check", "list_"} <= commands
    for path in CLI.glob("*.py"):
        if path.stem not in ("commands", "entry"):
            assert not imported_from_cli(path) & commands, path


def test_annotations_of_all_commands_are_evaluated() -> None:
    """Typer evaluates annotations that are text again and again, at every start."""
    groups = [app, *(group.typer_instance for group in app.registered_groups)]
    commands = [command.callback for group in groups for command in group.registered_commands]
    assert len(commands) > 20
    for command in commands:
        assert command is not None
        assert not any(isinstance(kind, str) for kind in command.__annotations__.values()), command


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_pack_of_one_run_is_unknown_in_the_next_run(before: bool) -> None:
    """Two runs in one process do not share `--pack`."""
    option = ["--pack", str(TINY_PACK)]
    first = CliRunner().invoke(app, [*option, "list"] if before else ["list", *option])
    second = CliRunner().invoke(app, ["list"])
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "prefix-sum" in first.stdout
    assert "prefix-sum" not in second.stdout


LIGHT = [
    ["list"],
    ["--help"],
    ["start", "gqa"],
    ["hint", "gqa"],
    ["solution", "gqa", "--give-up"],
    ["reset", "gqa"],
    ["--version"],
    ["list", "--json"],
    ["review", "--list"],
    ["review"],
    ["quiz", "--list"],
    ["hunt", "gqa"],
    ["compare"],
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_light_commands_import_no_torch(arguments: list[str], tmp_path: Path, home: Path) -> None:
    """They do not import numpy, Jinja and, in a pipe, rich either. Only a table needs rich."""
    script = (
        "import sys\n"
        "from trainer.cli import commands\n"
        "sys.argv = ['attn-drill', *sys.argv[1:]]\n"
        "code = commands._run()\n"
        "sys.stdout.flush()\n"
        "heavy = {'torch', 'numpy', 'rich', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
        "sys.exit(code)\n"
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
    assert done.stderr.strip() == ("['rich']" if arguments == ["compare"] else "[]")
    assert done.stdout


def test_help_names_every_command(tmp_path: Path) -> None:
    """--version prints the version."""
    assert drill("--version", cwd=tmp_path).stdout.strip() == f"attn-drill {__version__}"
    text = drill("--help", cwd=tmp_path).stdout
    names = (
        "list start check hint solution reset review stats hunt quiz interview compare heads "
        "export import pack doctor --install-completion"
    )
    for name in names.split():
        assert name in text


@pytest.mark.sampled(4)
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
            ["check", "gqa", "gqa.py", "--case", "99"],
            "--case 99 does not exist",
            id="no such case",
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--seed", "x"],
            "'x' is not a valid int",
            id="seed that is not a number",
        ),
        pytest.param(["hint"], "Missing argument", id="no id"),
        pytest.param(["chekc"], "No such command 'chekc'", id="no such command"),
        pytest.param(["start", "gqq"], "Did you mean gqa", id="start unknown"),
        pytest.param(["pack", "check", "/nowhere"], "has no folder challenges", id="no pack"),
    ],
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
    "arguments",
    [
        ["check", "--json"],
        ["check", "gqa", "--json", "--seed", "x"],
        ["check", "gqa", "--json", "--nope"],
    ],
)
def test_usage_error_of_check_with_json_is_an_object(tmp_path: Path, arguments: list[str]) -> None:
    """The object has an error and no verdict."""
    error = json.loads(drill(*arguments, cwd=tmp_path, code=2).stdout)
    assert error["verdict"] is None
    assert error["error"]


def test_closed_pipe_gives_no_traceback(solved: Path) -> None:
    """`| head -1` closes the pipe early."""
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


def test_errors_with_json_are_objects(run: Callable[..., tuple[int, str, str]]) -> None:
    """A usage error of `check --json` is a JSON object, with `--pack` on either side."""
    for arguments in (
        ["--pack", "nowhere", "check", "gqa", "--json"],
        ["check", "gqa", "--json", "--pack", "nowhere"],
        ["--pack", ".", "check", "--json", "--nope"],
    ):
        code, out, err = run(*arguments)
        assert (code, err) == (2, "")
        assert json.loads(out)["verdict"] is None
