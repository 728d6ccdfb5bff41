"""The score sheet in the terminal and as a page: complete, narrow where it must be, and nothing of the learner's gets out of its place."""

from tests.support.html_page import Page
from tests.support.score_sheet import SHEET
from trainer.report.score_sheet_page import to_html


def test_the_page_shows_the_learners_file_as_text() -> None:
    """Tags in it are characters, and what would move a cursor is shown as an escape."""
    page = to_html(SHEET)
    assert "</pre><script>" not in page
    assert "<img" not in page
    seen = Page(page).text
    line = r"x = '</code></pre><script>alert(1)</script>'  # & \x1b[2J\x07 <img src=http://a/b>"
    assert line in seen
    assert "\tindented = 1" in seen
    assert "\x1b" not in page
    assert "\x07" not in page
