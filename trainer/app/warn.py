"""Warnings on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from trainer.practice.journal import Journal
from trainer.report.wording import for_stream


def warn(sentences: Iterable[str]) -> None:
    """Print each sentence on stderr, after the program's name. A terminal gets whole words."""
    for sentence in sentences:
        print(for_stream(f"attn-drill: {sentence}", sys.stderr), file=sys.stderr)


def warn_journal(journal: Journal) -> None:
    """Warn if the journal could not be read or written."""
    if journal.trouble is not None:
        warn([journal.trouble])
