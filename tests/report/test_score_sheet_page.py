"""A score sheet as an HTML page."""

from attn_drill.report.pages import score_sheet_page
from tests.support.pages import Page
from tests.support.report import SHEET


def test_page_shows_the_learners_file_as_text() -> None:
    """Tags are text, and control characters are escapes."""
    page = score_sheet_page(SHEET)
    assert "</pre><script>" not in page
    assert "<img" not in page
    seen = Page(page).text
    line = r"x = '</code></pre><script>alert(1)</script>'  # & \x1b[2J\x07 <img src=http://a/b>"
    assert line in seen
    assert "\tindented = 1" in seen
    assert "\x1b" not in page
    assert "\x07" not in page
