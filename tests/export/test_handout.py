"""Tests of the page that students get with an assignment."""

from tests.support.html_page import Page
from tests.support.pages import handout_page


def test_page_has_the_rules_of_the_assignment() -> None:
    """Rules that the assignment does not set are left out."""
    page = handout_page(
        due=1_796_079_540.0, utc_offset=3600.0, grace=900.0, penalty=10.0, one_mistake=60.0
    )
    for words in (
        "Due: 2026-11-30 23:59 (UTC+01:00).",
        "A file that comes at most 15 minutes later is in time.",
        "Each day late that has begun costs 10 of 100 points.",
        "right except for one known mistake gets at least 60 points",
    ):
        assert words in page
    for words in ("Due:", "later is in time", "day late", "one known mistake"):
        assert words not in handout_page()


def test_page_has_each_task_with_its_points() -> None:
    """Markdown becomes HTML without its heading, and HTML in it is shown as text."""
    page = handout_page()
    assert "&lt;second&gt; <small>67% of the total</small>" in page
    assert '<th scope="col">shape</th>' in page
    assert "<td><code>[B, L]</code></td>" in page
    assert "The heading" not in page
    assert "&lt;script&gt;alert(1)" in page
    parsed = Page(page)
    assert len(parsed.named("table")) == 4
    assert '<th scope="row" class="check">values</th>\n<td class="number">100.0</td>' in page
