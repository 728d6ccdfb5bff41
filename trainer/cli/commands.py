"""Join all commands into one command line. Only commands that need torch import torch."""

from __future__ import annotations

import os
import sys
from inspect import get_annotations
from pathlib import Path
from typing import Annotated

import typer

from trainer import __version__
from trainer.app.warn import warn
from trainer.cli import (
    check,
    class_,
    compare,
    conventions,
    doctor,
    export,
    heads,
    hint,
    hunt,
    import_,
    interview,
    list_,
    pack,
    quiz,
    repro,
    reset,
    review,
    solution,
    start,
    stats,
    trace,
)
from trainer.cli.parameters import PACK_HELP, PackCommand, name_packs
from trainer.model.errors import DrillError, GraderError

app = typer.Typer(
    name="attn-drill",
    help="Practise implementing attention in PyTorch from memory.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would double the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list", cls=PackCommand)(list_.list_challenges)
app.command("start", cls=PackCommand)(start.start)
app.command("check", cls=PackCommand)(check.check)
app.command("hint", cls=PackCommand)(hint.hint)
app.command("solution", cls=PackCommand)(solution.solution)
app.command("trace", cls=PackCommand)(trace.trace)
app.command("repro", cls=PackCommand)(repro.repro)
app.command("reset", cls=PackCommand)(reset.reset)
app.command("review", cls=PackCommand)(review.review)
app.command("stats", cls=PackCommand)(stats.stats)
app.command("hunt", cls=PackCommand)(hunt.hunt)
app.command("quiz", cls=PackCommand)(quiz.quiz)
app.command("interview", cls=PackCommand)(interview.interview)
app.command("conventions", cls=PackCommand)(conventions.conventions)
app.command("compare")(compare.compare)
app.command("heads")(heads.heads)
app.command("export")(export.export_journal)
app.command("import")(import_.import_journal)
app.add_typer(class_.app, name="class")
# The names of 0.2 stay until 1.0.
app.command("grade", cls=PackCommand, hidden=True)(class_.grade)
app.command("autograder", cls=PackCommand, hidden=True)(class_.autograder)
app.command("doctor", cls=PackCommand)(doctor.doctor)
app.add_typer(pack.app, name="pack")
for group in (app, class_.app, pack.app):
    for command in group.registered_commands:
        # Typer evaluates annotations that are text six times, which takes half of its time.
        if command.callback is not None:
            command.callback.__annotations__ = get_annotations(command.callback, eval_str=True)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"attn-drill {__version__}")
        raise typer.Exit()


def _packs(context: typer.Context, folders: list[Path] | None) -> list[Path] | None:
    name_packs(context, folders)
    return folders


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    packs: Annotated[
        list[Path] | None, typer.Option("--pack", metavar="DIR", callback=_packs, help=PACK_HELP)
    ] = None,
) -> None:
    """Practise implementing attention in PyTorch from memory."""
    if context.invoked_subcommand is not None:
        return
    from trainer.cli.practise import can_draw_screen

    if not can_draw_screen():
        list_.list_challenges(context)
        return
    from trainer.cli.menu import menu

    menu(context)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Otherwise torch starts one thread for each core, and a process with threads forks badly.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    code = _run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1  # the reader of the pipe is gone
    # sys.exit would spend 0.3 s on tearing torch down.
    os._exit(code)


def _run() -> int:
    try:
        code = app(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except DrillError as error:
        warn([str(error)])
        return 2
    except GraderError as error:
        warn([str(error)])
        return 3
    except (KeyboardInterrupt, typer.Abort):
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 0
    except Exception as error:
        return _usage_or_crash(error)
    return 0


def _usage_or_crash(error: Exception) -> int:
    if hasattr(error, "exit_code") and hasattr(error, "format_message"):
        sentence = f"{error.format_message()} `attn-drill --help` lists all commands."
        command = getattr(getattr(error, "ctx", None), "info_name", None)
        if "check" in (command, *sys.argv[1:2]) and "--json" in sys.argv:
            check.print_error(sentence)
        else:
            warn([sentence])
        return 2
    import traceback

    traceback.print_exc()
    warn(["this is a bug in attn-drill, not in your file. Please report the lines above."])
    return 3
