"""The mistakes of a hunt as plain text, shown when they are repaired or given up."""

from __future__ import annotations

from collections.abc import Sequence

from attn_drill.hunt import planted_mistakes
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.packs import pack_reader
from attn_drill.report.question_text import code_lines
from attn_drill.report.wording import wrapped


def describe_mistakes(challenge: Challenge, ids: Sequence[str], width: int) -> str:
    """Return each planted mistake in words, its changed lines and its hint, in this width."""
    mistakes = planted_mistakes.mistakes_by_ids(challenge, ids)
    if mistakes is None:
        return wrapped(f"{challenge.id} has changed: it no longer has this hunt's bugs.", width)
    labels = [f"Bug {number}" for number in range(1, len(ids) + 1)] if len(ids) > 1 else ["The bug"]
    return "\n\n".join(
        _describe(challenge, label, mistake, width)
        for label, mistake in zip(labels, mistakes, strict=True)
    )


def _describe(challenge: Challenge, label: str, mistake: Mistake, width: int) -> str:
    paragraphs = [wrapped(f"{label}: {mistake.says}", width)]
    for change in planted_mistakes.reference_changes(
        pack_reader.solution(challenge), mistake, str(challenge.solutions / "mistakes.toml")
    ):
        for title, lines in (
            (f"reference, line {change.first}", change.was),
            ("handed out", change.now),
        ):
            lines = tuple(line for line in lines if line.strip())
            paragraphs += [
                f"  {title}{':' if lines else ': nothing'}",
                *("    " + line for line in code_lines(_dedented(lines), width - 4)),
            ]
    return "\n".join([*paragraphs, wrapped(f"To remember: {mistake.hint}", width)])


def _dedented(lines: Sequence[str]) -> list[str]:
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return [line[indent:] for line in lines]
