"""Sentences and JSON on stdout, and warnings on stderr. A terminal gets them wrapped by words."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import msgspec
import typer

from attn_drill.practice.journal import Journal
from attn_drill.report.wording import for_stream


def say(text: str) -> None:
    """Print prose on stdout."""
    typer.echo(for_stream(text, sys.stdout))  # print could not write all characters everywhere


def say_json(value: object) -> None:
    """Print a value as JSON: dataclasses as objects, and numbers that are not finite as null."""
    plain = msgspec.json.decode(msgspec.json.encode(value))
    typer.echo(json.dumps(plain, indent=2))


def warn(sentences: Iterable[str]) -> None:
    """Print each sentence on stderr, after the program's name."""
    for sentence in sentences:
        print(for_stream(f"attn-drill: {sentence}", sys.stderr), file=sys.stderr)


def warn_journal(journal: Journal) -> None:
    """Warn if the journal could not be read or written."""
    if journal.trouble is not None:
        warn([journal.trouble])
