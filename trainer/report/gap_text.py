"""A reference with gaps as plain text of a given width.

The module does not import rich, so that a review starts at once.
"""

from __future__ import annotations

from trainer.quiz.gaps import Gap, GapExercise
from trainer.report.question_text import code_lines, wrapped

_INDENT = "    "


def introduction(exercise: GapExercise, width: int) -> str:
    """Return the code of an exercise, and the sentences that say what to do."""
    sentences = (
        "Type the code that stands in each gap. "
        "`?` shows an answer that you do not know; `quit` ends."
    )
    if exercise.hides_more:
        sentences += " A gap without a number is not asked: it hides code that is like an answer."
    return f"{_code(exercise.code, width)}\n\n{wrapped(sentences, width)}"


def gap_line(gap: Gap, width: int) -> str:
    """Return the line of code with a gap."""
    return _code(gap.line, width)


def right_code(gap: Gap, width: int) -> str:
    """Return the sentence that shows the code of the reference."""
    return f"The reference has:\n{_code(gap.right, width)}"


def _code(code: str, width: int) -> str:
    lines = code_lines(code.split("\n"), width - len(_INDENT))
    return "\n".join((_INDENT + line).rstrip() for line in lines)
