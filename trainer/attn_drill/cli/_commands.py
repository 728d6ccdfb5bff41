"""Join all commands into one command line. Only commands that need torch import torch."""

from __future__ import annotations

import os
import sys
from inspect import get_annotations
from pathlib import Path
from typing import Annotated

import typer

from attn_drill import __version__
from attn_drill.cli import (
    _check,
    _class_commands,
    _interview,
    _keep_track,
    _pack,
    _quiz,
    _review,
    _start,
    _tool_commands,
)
from attn_drill.cli._command_line import (
    PACK_HELP,
    DrillCommand,
    DrillGroup,
    PackCommand,
    Program,
    exit_code,
    name_packs,
)

# The section of the first screen, or the group; the name; the function; the short help.
COMMANDS = (
    ("Practise", "list", _keep_track.list_challenges, "show the challenges and your state"),
    ("Practise", "start", _start.start, "write a stub and practise it"),
    ("Practise", "check", _check.check, "grade your file"),
    ("Practise", "hint", _start.hint, "show the next of three hints"),
    ("Practise", "solution", _start.solution, "show the reference after a pass"),
    ("Practise", "reset", _start.reset, "begin again with a fresh stub"),
    ("Look closer", "trace", _check.trace, "show each line's result next to the reference's"),
    ("Look closer", "repro", _check.repro, "write the failing case as a script"),
    ("Look closer", "conventions", _keep_track.conventions, "show where public code disagrees"),
    ("Rehearse", "review", _review.review, "write again what is due"),
    ("Rehearse", "quiz", _quiz.quiz, "answer questions"),
    ("Rehearse", "hunt", _start.hunt, "repair a reference with bugs in it"),
    ("Rehearse", "interview", _interview.interview, "hold a timed mock interview"),
    ("Keep track", "stats", _keep_track.stats, "show days, topics, times and mistakes"),
    ("journal", "export", _keep_track.export_journal, "write a copy of the journal"),
    ("journal", "import", _keep_track.import_journal, "add the entries of such a copy"),
    ("class", "grade", _class_commands.grade, "grade the submissions of a class"),
    ("class", "override", _class_commands.override, "set points by hand"),
    ("class", "handout", _class_commands.handout, "write what the students get"),
    ("class", "autograder", _class_commands.autograder, "write an autograder for Gradescope"),
    ("pack", "new", _pack.new_pack, "write a new pack with one challenge"),
    ("pack", "check", _pack.check_pack, "verify the challenges of a pack"),
    ("Machine and tools", "doctor", _tool_commands.doctor, "show versions, settings and isolation"),
    ("tools", "compare", _tool_commands.compare, "compare MHA, GQA, MQA and MLA"),
    ("tools", "heads", _tool_commands.heads, "describe the heads of saved weights"),
)
GROUPS = (
    ("Keep track", "journal", "export or import your history"),
    ("Teach and extend", "class", "grade a class, make a Gradescope autograder"),
    ("Teach and extend", "pack", "write and verify challenges of your own"),
    ("Machine and tools", "tools", "compare attention variants, describe heads"),
)
# The class of a command that is no PackCommand.
_KINDS = {
    _check.check: _check.CheckCommand,
    _keep_track.export_journal: DrillCommand,
    _keep_track.import_journal: DrillCommand,
    _class_commands.override: DrillCommand,
    _pack.new_pack: DrillCommand,
    _tool_commands.compare: DrillCommand,
    _tool_commands.heads: DrillCommand,
}

app = typer.Typer(
    name="attn-drill",
    cls=Program,
    help="Practise implementing attention in PyTorch from memory.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would double the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
)
_groups: dict[str, typer.Typer] = {}
for section, name, text in GROUPS:
    _groups[name] = typer.Typer(help=f"{text[0].upper()}{text[1:]}.", rich_markup_mode=None)
    app.add_typer(
        _groups[name], name=name, cls=DrillGroup, short_help=text, rich_help_panel=section
    )
for place, name, function, text in COMMANDS:
    section = "Commands" if place in _groups else place
    kind = _KINDS.get(function, PackCommand)
    _groups.get(place, app).command(name, cls=kind, short_help=text, rich_help_panel=section)(
        function
    )
    # Typer evaluates annotations that are text six times, which takes half of its time.
    function.__annotations__ = get_annotations(function, eval_str=True)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"attn-drill {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    packs: Annotated[
        list[Path] | None,
        typer.Option("--pack", metavar="DIR", callback=name_packs, help=PACK_HELP),
    ] = None,
) -> None:
    """Practise implementing attention in PyTorch from memory."""
    if context.invoked_subcommand is not None:
        return
    from attn_drill.cli._practise import can_draw_screen

    if not can_draw_screen():
        _keep_track.list_challenges(context)
        return
    from attn_drill.cli._practise import menu

    menu(context)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Otherwise torch starts one thread for each core, and a process with threads forks badly.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    code = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1  # the reader of the pipe is gone
    # sys.exit would spend 0.3 s on tearing torch down.
    os._exit(code)


def run() -> int:
    """Run the program that `sys.argv` names, and return its exit code."""
    return exit_code(lambda: app(prog_name="attn-drill", standalone_mode=False))
