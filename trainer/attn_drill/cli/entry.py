"""The entry point of every command.

This module imports nothing that takes time, because most commands need no torch.
"""

from __future__ import annotations

import os
import signal
import sys

# Commands that grade a file at once. Their grading server starts before the command line is read.
_GRADING = ("check", "trace", "repro")
_WITHOUT_GRADING = ("-h", "--help", "--version")


def main() -> None:
    """Start a grading server early if the command needs it, and run the command line."""
    # A script in the background ignores SIGINT. Otherwise Ctrl-C ends this process until the
    # command handles it, because a KeyboardInterrupt can be lost during an import.
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    if will_grade(sys.argv[1:]):
        from attn_drill.app.grade_file import start_early

        start_early()
    from attn_drill.cli import _commands  # imports typer, which takes time

    signal.signal(signal.SIGINT, usual)
    _commands.main()


def will_grade(arguments: list[str]) -> bool:
    """Return True if the command will probably grade a file. A wrong guess only costs time."""
    if any(name.startswith("_ATTN_DRILL_COMPLETE") for name in os.environ):
        return False
    words = [argument for argument in arguments if not argument.startswith("-")]
    return bool(words) and words[0] in _GRADING and not set(arguments) & set(_WITHOUT_GRADING)


def _end(*_: object) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(130)
