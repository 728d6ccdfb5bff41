"""What was wrong in a hunt, told once it is repaired or given up. Plain text."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.hunt import planted_mistakes as hunts
from trainer.model.challenge import Challenge, Mistake
from trainer.packs import pack_reader
from trainer.report.question_text import code_lines, wrapped


def what_it_was(challenge: Challenge, ids: Sequence[str], width: int) -> str:
    """Which mistakes they were: in words, and the lines of the reference; as text of this width."""
    mistakes = hunts.by_ids(challenge, ids)
    if mistakes is None:
        return f"It was {' and '.join(ids)}, which {challenge.id} no longer has."
    return "\n\n".join(_one(challenge, mistake, width) for mistake in mistakes)


def _one(challenge: Challenge, mistake: Mistake, width: int) -> str:
    found = [wrapped(f"It was {mistake.id}: {mistake.says}", width)]
    for change in hunts.told(
        pack_reader.solution(challenge), mistake, str(challenge.solutions / "mistakes.toml")
    ):
        for title, lines in (
            (f"reference, line {change.first}", change.was),
            ("handed out", change.now),
        ):
            lines = tuple(line for line in lines if line.strip())
            found += [
                f"  {title}{':' if lines else ': nothing'}",
                *("    " + line for line in code_lines(_dedented(lines), width - 4)),
            ]
    return "\n".join([*found, wrapped(f"To remember: {mistake.hint}", width)])


def _dedented(lines: Sequence[str]) -> list[str]:
    least = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return [line[least:] for line in lines]
