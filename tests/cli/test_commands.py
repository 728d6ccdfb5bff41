"""The command line: its commands, `--pack`, and imports."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from attn_drill import __version__
from attn_drill.cli._command_line import SECTIONS
from attn_drill.cli._commands import app
from attn_drill.packs import pack_reader
from tests.support.paths import SOURCE, TESTS, TINY_PACK

JOURNAL = TESTS / "practice" / "journal_4.jsonl"
CLI = pack_reader.PACKAGE / "cli"
Run = Callable[..., tuple[int, str, str]]


def imported_from_cli(path: Path) -> set[str]:
    """Return the modules of attn_drill/cli that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if node.module == "attn_drill.cli":
            names |= {alias.name for alias in node.names}
        elif node.module.startswith("attn_drill.cli."):
            names.add(node.module.removeprefix("attn_drill.cli."))
    return names


def test_only_the_command_line_imports_commands() -> None:
    """Functions for several commands are in helper modules."""
    helpers = {"_ask", "_command_line", "_practise"}
    commands = imported_from_cli(CLI / "_commands.py") - helpers
    assert {"_check", "_keep_track"} <= commands
    for path in CLI.glob("*.py"):
        if path.stem not in ("_commands", "entry"):
            assert not imported_from_cli(path) & commands, path


def test_annotations_of_all_commands_are_evaluated() -> None:
    """Typer evaluates annotations that are text again and again, at every start."""
    groups = [app, *(group.typer_instance for group in app.registered_groups)]
    commands = [
        command.callback for group in groups if group for command in group.registered_commands
    ]
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
    ["quiz", "--count", "8"],
    ["hunt", "gqa"],
    ["hunt", "mini-gpt", "--bugs", "1"],
    ["review", "gqa", "--minutes", "5"],  # a gap is graded in another process
    ["journal", "import", str(JOURNAL)],
    ["stats", "--json"],
    ["tools", "compare"],
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_light_commands_import_no_torch(arguments: list[str], tmp_path: Path, home: Path) -> None:
    """They do not import numpy, Jinja and, in a pipe, rich either. Only a table needs rich."""
    script = (
        "import sys\n"
        "from attn_drill.cli import _commands\n"
        "sys.argv = ['attn-drill', *sys.argv[1:]]\n"
        "code = _commands.run()\n"
        "sys.stdout.flush()\n"
        "heavy = {'torch', 'numpy', 'rich', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=tmp_path,
        input="a\n?\n?\n",
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == (
        "['rich']" if "compare" in arguments or "stats" in arguments else "[]"
    )
    assert done.stdout


def test_every_command_has_a_section_and_a_short_help() -> None:
    """This holds for subcommands too."""
    program = get_command(app)
    assert isinstance(program, TyperGroup)
    for name, command in program.commands.items():
        assert getattr(command, "rich_help_panel", None) in SECTIONS, name
        below = command.commands.values() if isinstance(command, TyperGroup) else ()
        for each in (command, *below):
            assert 0 < len(each.short_help or "") <= 60, (name, each.name)


@pytest.mark.parametrize("path", ["", "class", "pack", "journal", "tools"])
@pytest.mark.parametrize("columns", ["80", "50"])
def test_help_screen_fits_and_nothing_is_cut(
    path: str, columns: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the name of a subcommand, a group shows its help too."""
    monkeypatch.setenv("COLUMNS", columns)
    code, text, _ = run(*path.split(), "--help")
    assert code == 0
    assert max(map(len, text.splitlines())) <= int(columns)
    assert "..." not in text.partition("\n\n")[2]
    assert not path or run(path) == (0, text, "")


def test_first_screen(run: Run) -> None:
    """It has six sections, and the options come last. --version prints the version."""
    assert run("--version")[1].strip() == f"attn-drill {__version__}"
    text = run("--help")[1]
    sections = [line.removesuffix(":") for line in text.splitlines() if re.match(r"\w.*:$", line)]
    assert sections == [*SECTIONS, "Options"]
    names = re.findall(r"^  (\w+)  ", text, re.MULTILINE)
    assert " ".join(names) == (
        "list start check hint solution reset trace repro conventions review quiz hunt interview "
        "stats journal class pack doctor tools"
    )


def test_names_of_version_0_2_work(run: Run) -> None:
    """`grade override` names its new place."""
    for old, new in (
        ("compare", "tools compare"),
        ("heads", "tools heads"),
        ("export", "journal export"),
        ("import", "journal import"),
        ("grade", "class grade"),
        ("autograder", "class autograder"),
    ):
        code, text, _ = run(old, "--help")
        assert code == 0
        assert text.splitlines()[1:] == run(*new.split(), "--help")[1].splitlines()[1:], old
    code, _, error = run("grade", "override", "grades", "Ana", "--points", "3")
    assert code == 2
    assert "`attn-drill class override`" in error
    assert len(error.splitlines()) == 1


def test_functions_are_short() -> None:
    """A command has at most 10 options and arguments, and a function at most 60 lines."""
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                names = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
                assert len(names - {"self", "context"}) <= 10, (path.name, node.name)
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= 60, (path.name, node.name, length)


def test_closed_pipe_gives_no_traceback(solved: Path) -> None:
    """`| head -1` closes the pipe early."""
    command = f"{sys.executable} -m attn_drill list | head -1"
    done = subprocess.run(
        command,
        shell=True,
        cwd=solved,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
