"""Journals and lines for tests of export and import."""

import io
import random
from pathlib import Path
from typing import Any

from trainer.practice.attempt import Attempt
from trainer.practice.exchange import export_lines, read_export
from trainer.practice.journal import Journal

HEADER = b'{"attn-drill": "journal", "version": 4}\n'

HINT = b'{"table": "hints", "id": "a", "challenge": "gqa", "at": 1.5, "level": 2}\n'

TEXTS = (
    "",
    "x = 1\n",
    "a\0b",
    "\r\n\u2028\x85\x1b[31m",
    "é 注意力 🙂",
    '"\\u00e9"',
    "\x7f\ufeff\uffff",
)


def filled_journal(folder: Path, seed: int = 0) -> Journal:
    """Return a journal with rows in every table, and with texts and numbers of all kinds."""
    draw = random.Random(seed)
    journal = Journal(folder)
    for number in range(4):
        at = draw.uniform(0, 2e9)
        text = draw.choice(TEXTS)
        journal.record_start("gqa", Path(f"/{text.replace('/', '')}"), at, "guided")
        first = journal.record_attempt(
            Attempt(
                "gqa",
                at,
                draw.getrandbits(63),
                "failed",
                number,
                14,
                TEXTS[number],
                {"loads": "passed"},
                draw.random() / 3,
                number,
                True,
                "review",
            )
        )
        journal.record_attempt(Attempt("mha", at + 1, 0, "passed", 14, 14, TEXTS[-number]))
        journal.record_diagnosis(first, ["no-scale", "x"], 3 if number else None)
        journal.record_replaced(first, at + 2)
        journal.record_resumption("gqa", at + 3)
        journal.record_hint("gqa", 3, at + 0.1)
        journal.record_solution("gqa", 1e-300 * number)
        journal.overrule(journal.record_review("question:a", at, 1 + number, text), at, 4)
        journal.record_hunt("gqa", at, [text], Path("/x"))
        journal.record_event(
            journal.record_interview(at, {"minutes": 45.5, text: [None, float("nan")]}),
            at,
            "answer",
            {"right": True},
        )
    assert journal.trouble is None
    return journal


def exported(journal: Journal) -> bytes:
    """Return the export of a journal."""
    return b"".join(export_lines(journal.rows()))


def read_rows(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of an export."""
    return read_export(io.BytesIO(data), "it")
