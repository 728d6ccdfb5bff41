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
    check,
    class_autograder,
    class_grade,
    class_handout,
    class_override,
    compare,
    conventions,
    doctor,
    heads,
    hint,
    hunt,
    interview,
    journal_copies,
    list_,
    pack,
    quiz,
    review,
    start,
    stats,
    trace,
)
from attn_drill.cli.exit_codes import exit_code
from attn_drill.cli.parameters import (
    PACK_HELP,
    DrillCommand,
    DrillGroup,
    PackCommand,
    Program,
    name_packs,
)

# The section of the first screen, or the group; the name; the function; the short help.
COMMANDS = (
    ("Practise", "list", list_.list_challenges, "show the challenges and your state"),
    ("Practise", "start", start.start, "write a stub and practise it"),
    ("Practise", "check", check.check, "grade your file"),
    ("Practise", "hint", hint.hint, "show the next of three hints"),
    ("Practise", "solution", hint.solution, "show the reference after a pass"),
    ("Practise", "reset", start.reset, "begin again with a fresh stub"),
    ("Look closer", "trace", trace.trace, "show each line's result next to the reference's"),
    ("Look closer", "repro", trace.repro, "write the failing case as a script"),
    ("Look closer", "conventions", conventions.conventions, "show where public code disagrees"),
    ("Rehearse", "review", review.review, "write again what is due"),
    ("Rehearse", "quiz", quiz.quiz, "answer questions"),
    ("Rehearse", "hunt", hunt.hunt, "repair a reference with bugs in it"),
    ("Rehearse", "interview", interview.interview, "hold a timed mock interview"),
    ("Keep track", "stats", stats.stats, "show days, topics, times and mistakes"),
    ("journal", "export", journal_copies.export_journal, "write a copy of the journal"),
    ("journal", "import", journal_copies.import_journal, "add the entries of such a copy"),
    ("class", "grade", class_grade.grade, "grade the submissions of a class"),
    ("class", "override", class_override.override, "set points by hand"),
    ("class", "handout", class_handout.handout, "write what the students get"),
    ("class", "autograder", class_autograder.autograder, "write an autograder for Gradescope"),
    ("pack", "new", pack.new_pack, "write a new pack with one challenge"),
    ("pack", "check", pack.check_pack, "verify the challenges of a pack"),
    ("Machine and tools", "doctor", doctor.doctor, "show versions, settings and isolation"),
    ("tools", "compare", compare.compare, "compare MHA, GQA, MQA and MLA"),
    ("tools", "heads", heads.heads, "describe the heads of saved weights"),
)
GROUPS = (
    ("Keep track", "journal", "export or import your history"),
    ("Teach and extend", "class", "grade a class, make a Gradescope autograder"),
    ("Teach and extend", "pack", "write and verify challenges of your own"),
    ("Machine and tools", "tools", "compare attention variants, describe heads"),
)
# The class of a command that is no PackCommand.
_KINDS = {
    check.check: check.CheckCommand,
    journal_copies.export_journal: DrillCommand,
    journal_copies.import_journal: DrillCommand,
    class_override.override: DrillCommand,
    pack.new_pack: DrillCommand,
    compare.compare: DrillCommand,
    heads.heads: DrillCommand,
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
    from attn_drill.cli.practise import can_draw_screen

    if not can_draw_screen():
        list_.list_challenges(context)
        return
    from attn_drill.cli.menu import menu

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
    return exit_code(lambda: app(prog_name="attn-drill", standalone_mode=False))
