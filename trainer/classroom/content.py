"""Which challenge is meant, and whether it is the same on two machines or on two days."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from trainer import __version__
from trainer.content import packs
from trainer.core.words import Challenge, DrillError


def found_in(folders: Iterable[str], challenge_id: str) -> Challenge:
    """The challenge in the first of these packs that has it.

    Raises:
        DrillError: if none has it.
    """
    folders = list(folders)
    for folder in folders:
        path = Path(folder) / "challenges" / packs.folder_name(challenge_id)
        if (path / "challenge.toml").is_file():
            return packs.read_challenge(path)
    raise DrillError(
        f"No challenge is called {challenge_id!r} in {', '.join(folders)}. Is the pack there, on this machine too?"
    )


def content_digest(challenge: Challenge) -> str:
    """SHA-256 of all that a challenge's verdicts depend on but the submission: its files, and the version of the grader."""
    digest = hashlib.sha256(__version__.encode())
    for root in (challenge.folder, challenge.solutions):
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
