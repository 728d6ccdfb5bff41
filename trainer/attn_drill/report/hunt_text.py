"""The mistakes of a hunt as plain text, shown when they are repaired or given up."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from attn_drill.hunt import planted_mistakes
from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.report.question_text import code_lines
from attn_drill.report.wording import wrapped


def describe_mistakes(challenge: Challenge, ids: Sequence[str], width: int) -> str:
    """Return each planted mistake in words, its changed lines and its hint, in this width."""
    mistakes = planted_mistakes.mistakes_by_ids(challenge, ids)
    if mistakes is None:
        return wrapped(f"{challenge.id} has changed: it no longer has this hunt's bugs.", width)
    source = pack_reader.solution(challenge)
    where = str(challenge.solutions / "mistakes.toml")
    texts: list[str] = []
    for number, mistake in enumerate(mistakes, start=1):
        label = f"Bug {number}" if len(mistakes) > 1 else "The bug"
        lines = [wrapped(f"{label}: {mistake.says}", width)]
        for change in planted_mistakes.reference_changes(source, mistake, where):
            lines += _titled(f"reference, line {change.first}", change.was, width)
            lines += _titled("handed out", change.now, width)
        lines.append(wrapped(f"To remember: {mistake.hint}", width))
        texts.append("\n".join(lines))
    return "\n\n".join(texts)


def _titled(title: str, lines: Sequence[str], width: int) -> Iterator[str]:
    """Yield a title and the lines without their common indent."""
    shown = textwrap.dedent("\n".join(filter(str.strip, lines)))
    yield f"  {title}{':' if shown else ': nothing'}"
    for line in code_lines(shown.splitlines(), width - 4):
        yield f"    {line}"
