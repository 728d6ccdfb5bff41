"""Tests of the HTML page of attention heads."""

import math
import re
from dataclasses import replace

from attn_drill.report.pages import heads_page
from tests.support.tools import facts, random_weights


def test_page_shows_every_head() -> None:
    """Every head is in the table and has a picture. Names are escaped."""
    heads = facts(random_weights(2, 3), "<b>layer</b>")
    page = heads_page(heads, "<i>w.npy")
    assert not re.search(r"<script|<i>|<b>layer", page)
    for head in heads:
        assert page.count(f'<figure id="head-{head.head_index}">\n<svg ') == 1
        row = page.split(f'<td><a href="#head-{head.head_index}">')[1].split("</tr>")[0]
        assert f"<td>{head.entropy:.4f}</td>" in row
        assert f"<td>{head.distance:.4f}</td>" in row
        assert f"[{head.index[0]}, {head.index[1]}]" in row
        assert head.kind in row


def test_page_draws_every_cell() -> None:
    """A cell that is not nearly 0 is a square.

    Its opacity is the root of its share of the largest weight. Invalid weights have a separate
    class.
    """
    page = heads_page(facts([[0.64, 0.16], [0.0, math.nan]]), "w.npy")
    assert re.findall(r"<path [^>]*>", page) == [
        '<path class="strange" d="M1 1h1v1h-1z"/>',
        '<path opacity="0.5" d="M1 0h1v1h-1z"/>',
        '<path opacity="1" d="M0 0h1v1h-1z"/>',
    ]


def test_page_reports_heads_without_a_picture() -> None:
    """The number of these heads is shown."""
    heads = facts(random_weights(5))
    heads[3:] = [replace(head, grid=()) for head in heads[3:]]
    assert "2 more heads are not shown here" in heads_page(heads, "w.npy")
