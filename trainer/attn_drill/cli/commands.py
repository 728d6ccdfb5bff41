"""Join all commands into one command line. Only commands that need torch import torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
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
    SectionedGroup,
    name_packs,
)

Rows = dict[str, tuple[type[DrillCommand], Callable[..., None], str]]


def _group(text: str, commands: Rows) -> typer.Typer:
    group = typer.Typer(help=text, rich_markup_mode=None)
    for name, (kind, function, short_help) in commands.items():
        group.command(name, cls=kind, short_help=short_help)(function)
    return group


class_app = _group(
    "Grade a class, set points by hand, hand out the tasks, make a Gradescope autograder.",
    {
        "grade": (PackCommand, class_grade.grade, "grade the submissions of a class"),
        "override": (DrillCommand, class_override.override, "set points by hand"),
        "handout": (PackCommand, class_handout.handout, "write what the students get"),
        "autograder": (
            PackCommand,
            class_autograder.autograder,
            "write an autograder for Gradescope",
        ),
    },
)
journal_app = _group(
    "Export or import your history.",
    {
        "export": (DrillCommand, journal_copies.export_journal, "write a copy of the journal"),
        "import": (DrillCommand, journal_copies.import_journal, "add the entries of such a copy"),
    },
)
tools_app = _group(
    "Compare attention variants, describe heads.",
    {
        "compare": (DrillCommand, compare.compare, "compare MHA, GQA, MQA and MLA"),
        "heads": (DrillCommand, heads.heads, "describe the heads of saved weights"),
    },
)

app = typer.Typer(
    name="attn-drill",
    cls=SectionedGroup,
    help="Practise implementing attention in PyTorch from memory.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would double the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
)
# The first screen: the section of a command, its name, its function, its short help.
for section, name, function, short_help in (
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
    ("Keep track", "journal", journal_app, "export or import your history"),
    ("Teach and extend", "class", class_app, "grade a class, make a Gradescope autograder"),
    ("Teach and extend", "pack", pack.app, "write and verify challenges of your own"),
    ("Machine and tools", "doctor", doctor.doctor, "show versions, settings and isolation"),
    ("Machine and tools", "tools", tools_app, "compare attention variants, describe heads"),
):
    if isinstance(function, typer.Typer):
        app.add_typer(
            function, name=name, cls=DrillGroup, short_help=short_help, rich_help_panel=section
        )
        continue
    kind = check.CheckCommand if function is check.check else PackCommand
    app.command(name, cls=kind, short_help=short_help, rich_help_panel=section)(function)
for group in (app, class_app, journal_app, pack.app, tools_app):
    for command in group.registered_commands:
        # Typer evaluates annotations that are text six times, which takes half of its time.
        if command.callback is not None:
            command.callback.__annotations__ = get_annotations(command.callback, eval_str=True)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"attn-drill {__version__}")
        raise typer.Exit()


def _named_first(context: typer.Context, folders: list[Path] | None) -> list[Path] | None:
    """Name packs before the command. Without some, the command finds the packs itself.

    So an error about them is shown in the form that the options of the command ask for.
    """
    if folders:
        name_packs(context, folders)
    return folders


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    packs: Annotated[
        list[Path] | None,
        typer.Option("--pack", metavar="DIR", callback=_named_first, help=PACK_HELP),
    ] = None,
) -> None:
    """Practise implementing attention in PyTorch from memory."""
    if context.invoked_subcommand is not None:
        return
    name_packs(context, ())
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
    """Run the command line and return its exit code."""
    return exit_code(lambda: app(prog_name="attn-drill", standalone_mode=False))
