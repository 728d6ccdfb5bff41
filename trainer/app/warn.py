"""Warnings on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from trainer.practice.journal import Journal


def warn(sentences: Iterable[str]) -> None:
    """Print each sentence on stderr, after the program's name."""
    for sentence in sentences:
        print(f"attn-drill: {sentence}", file=sys.stderr)


def warn_journal(journal: Journal) -> None:
    """Warn if the journal could not be read or written."""
    if journal.trouble is not None:
        warn([journal.trouble])
