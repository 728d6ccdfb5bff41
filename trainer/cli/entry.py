"""The beginning of every command: a command that grades goes on in a clean process first.

Nothing is imported here that takes time: most commands need no torch.
"""

from __future__ import annotations

import contextlib
import os
import sys

from trainer.sandbox import environment
from trainer.worker import launch

# Commands that start workers from their own process; the others have a process of ours do it.
_GRADING = frozenset({"check", "trace", "repro", "hunt", "doctor"})
_APP = "trainer.cli.commands"


def main() -> None:
    """Run the command line."""
    with launch.ending_at_once():
        if starts_workers(sys.argv[1:]) and hasattr(os, "fork"):
            with contextlib.suppress(
                OSError
            ):  # the fork server is started in a process of its own then
                launch.replace_this_process(_APP, sys.argv[1:])
        from trainer.cli import commands  # it imports typer
    commands.main()


def starts_workers(arguments: list[str]) -> bool:
    """Return whether these arguments name a command that will start workers, and a challenge that may exist.

    A guess that is wrong costs time and nothing else.
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
        return words[0] == "check"  # the challenge that was started last
    folder = words[1].replace("-", "_").lower()
    roots = (environment.ROOT, environment.ROOT / "trainer" / "_pack")
    return any((root / "challenges" / folder).is_dir() for root in roots)
