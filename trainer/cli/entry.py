"""The entry point of every command. A command that grades continues in a clean process.

This module imports nothing that takes time, because most commands need no torch.
"""

from __future__ import annotations

import contextlib
import os
import sys

from trainer.sandbox import environment
from trainer.worker import launch

# Commands that start workers in their own process. Other commands use a grading server.
_GRADING = frozenset({"check", "trace", "repro", "hunt", "doctor"})
_APP = "trainer.cli.commands"


def main() -> None:
    """Run the command line."""
    with launch.exit_on_interrupt():
        if starts_workers(sys.argv[1:]) and hasattr(os, "fork"):
            # After an OSError the fork server starts in a separate process.
            with contextlib.suppress(OSError):
                launch.replace_this_process(_APP, sys.argv[1:])
        from trainer.cli import commands  # imports typer, which takes time
    commands.main()


def starts_workers(arguments: list[str]) -> bool:
    """Return True if the command will start workers for a challenge that may exist.

    A wrong guess only costs time.

    Args:
        arguments: the command line without the program's name.
    """
    if any(name.startswith("_ATTN_DRILL_COMPLETE") for name in os.environ):
        return False
    if any(argument in ("-h", "--help", "--version") for argument in arguments):
        return False
    words = [argument for argument in arguments if not argument.startswith("-")]
    if not words or words[0] not in _GRADING:
        return False
    named_elsewhere = "ATTN_DRILL_PACK" in os.environ or any(
        "--pack" in argument for argument in arguments
    )
    if words[0] == "doctor" or named_elsewhere:
        return True
    if words[0] == "hunt" and "--check" not in arguments:
        return False
    if len(words) < 2:
        return words[0] == "check"  # the default is the last started challenge
    folder = words[1].replace("-", "_").lower()
    roots = (environment.ROOT, environment.ROOT / "trainer" / "_pack")
    return any((root / "challenges" / folder).is_dir() for root in roots)
