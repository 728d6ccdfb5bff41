"""Identify the content of a challenge, to compare it between machines and between days."""

from __future__ import annotations

import hashlib

from trainer import __version__
from trainer.model.challenge import Challenge


def content_digest(challenge: Challenge) -> str:
    """Return the SHA-256 of the challenge's files and the version of attn-drill.

    The verdict on a submission depends on these two.
    """
    digest = hashlib.sha256(__version__.encode())
    for root in (challenge.folder, challenge.solutions):
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
