"""Tests of the page that students get with an assignment."""

from tests.support.pages import Page, handout_page


def test_page_has_the_rules_of_the_assignment() -> None:
    """Rules that the assignment does not set are left out."""
    assert "Each day late that has begun costs 10 of 100 points." in handout_page(penalty=10.0)
    page = handout_page(seconds=2.5)
    assert "day late" not in page
    assert "for at most 2.5 CPU seconds" in page


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
