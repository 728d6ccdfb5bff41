"""A score sheet as one HTML page, from `templates/score_sheet.html.jinja`."""

from __future__ import annotations

from attn_drill.interview.score import ScoreSheet
from attn_drill.report import score_sheet
from attn_drill.report.pages import page


def score_sheet_page(sheet: ScoreSheet) -> str:
    """Return the whole page, with the words of the terminal."""
    return "".join(page("score_sheet", sheet=sheet, words=score_sheet))
