"""A score sheet as one HTML page, from `templates/score_sheet.html.jinja`."""

from __future__ import annotations

from attn_drill.interview.score import ScoreSheet
from attn_drill.report.follow_up_text import prose_of
from attn_drill.report.pages import page
from attn_drill.report.score_sheet import (
    headline,
    minutes,
    outcome,
    own_ratings,
    rating_in_words,
    score,
    times,
    when,
)


def to_html(sheet: ScoreSheet) -> str:
    """Return the whole page."""
    pieces = page(
        "score_sheet",
        sheet=sheet,
        headline=headline(sheet),
        when=when(sheet),
        score=score(sheet),
        own_ratings=own_ratings(sheet),
        times=times(sheet),
        minutes=minutes,
        outcome=outcome,
        prose_of=prose_of,
        rating_in_words=rating_in_words,
    )
    return "".join(pieces)
