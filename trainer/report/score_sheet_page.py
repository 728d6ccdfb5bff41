"""A score sheet as one HTML page, from `templates/score_sheet.html.jinja`."""

from __future__ import annotations

from trainer.interview.score import ScoreSheet
from trainer.report.pages import page
from trainer.report.score_sheet import answer_in_words, minutes, outcome, times, when


def to_html(sheet: ScoreSheet) -> str:
    """Return the whole page."""
    pieces = page(
        "score_sheet",
        sheet=sheet,
        when=when(sheet),
        times=times(sheet),
        answer_in_words=answer_in_words,
        minutes=minutes,
        outcome=outcome,
    )
    return "".join(pieces)
