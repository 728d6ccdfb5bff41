"""Find the line of a planted mistake in the file of a bug hunt.

The text of the mistake is known. If it still stands in the file, its line is certain, also where
the recorded values lead to a later line, for example to the output after a missing training step.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import SequenceMatcher

from trainer.diagnosis.source_analysis import function_name
from trainer.model.challenge import Mistake
from trainer.model.report import Diagnosis, Frame
from trainer.packs.mistakes import patch_all

_COMMENT = re.compile(r"\s*#.*$")


def at_planted_line(
    diagnosis: Diagnosis, reference: str, mistake: Mistake, source: str
) -> Diagnosis:
    """Return a diagnosis whose line is that of a planted mistake, if the file still has it.

    Facts about another line are left out.

    Args:
        diagnosis: of the file of a hunt.
        reference: the text of the reference.
        mistake: the planted mistake that the diagnosis names.
        source: the text of the file.
    """
    line = planted_line(reference, mistake, source)
    found = diagnosis.first_line.line if diagnosis.first_line is not None else None
    if line is None or line == found:
        return diagnosis
    frame = Frame(line, function_name(source, line), source.splitlines()[line - 1].strip())
    return replace(
        diagnosis,
        first_line=frame,
        last_reached=None,
        first_missed=None,
        last_shape="",
        missed_shape="",
        made=None,
    )


def planted_line(reference: str, mistake: Mistake, source: str) -> int | None:
    """Return the line number of a planted mistake in a file, from 1; None if it is not there.

    If the mistake leaves lines out, return the line after the gap, or the line before it if the
    gap is at the end of a block.
    """
    right, wrong = _code_of(reference), _code_of(patch_all(reference, [mistake], ""))
    own = _code_of(source)
    places = _matched([text for _, text in wrong], [text for _, text in own])
    changes = _changes([text for _, text in right], [text for _, text in wrong])
    for tag, first_right, _, start, end in changes:
        if tag == "delete":
            before, after = places.get(start - 1), places.get(start)
            if before is not None and after == before + 1:
                is_in_block = _indent(own[after][1]) >= _indent(right[first_right][1])
                return own[after if is_in_block else before][0]
        for index in range(start, end):
            if index in places:
                return own[places[index]][0]
    return None


def _code_of(source: str) -> list[tuple[int, str]]:
    """Return the lines with code, with their numbers, without comments at their ends."""
    numbered = enumerate((_COMMENT.sub("", line) for line in source.splitlines()), 1)
    return [(number, text) for number, text in numbered if text.strip()]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _changes(was: list[str], now: list[str]) -> list[tuple[str, int, int, int, int]]:
    found = SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
    return [change for change in found if change[0] != "equal"]


def _matched(first: list[str], second: list[str]) -> dict[int, int]:
    """Return the index in the second list of each line of the first list that stayed."""
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}
