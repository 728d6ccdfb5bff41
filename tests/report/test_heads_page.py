"""`heads`: facts against hand-made values and the reference, formats, bad input, and what is shown at which width."""

import math
import re

from tests.support.heads import facts, random_weights
from trainer.report.heads_page import cells, to_html
from trainer.tools.attention_heads import facts_of


def test_the_page_shows_every_head() -> None:
    """Every head is in the table and has a picture; names are escaped."""
    tensors = {"<b>layer</b>": random_weights(2, 3)}
    found = list(facts_of(tensors, range(6), range(6), cells))
    page = to_html(found, "<i>w.npy")
    assert not re.search(r"<script|<i>|<b>layer", page)
    for one in found:
        assert page.count(f'<figure id="head-{one.number}">\n<svg ') == 1
        row = page.split(f'<td><a href="#head-{one.number}">')[1].split("</tr>")[0]
        assert f"<td>{one.entropy:.4f}</td>" in row
        assert f"<td>{one.distance:.4f}</td>" in row
        assert f"[{one.index[0]}, {one.index[1]}]" in row
        assert one.kind in row


def test_the_page_draws_every_cell() -> None:
    """A square for each cell that is not nearly 0, as strong as the root of its share; what is no weight has a class of its own."""
    page = to_html(facts([[0.64, 0.16], [0.0, math.nan]]), "w.npy")
    assert re.findall(r"<path [^>]*>", page) == [
        '<path class="strange" d="M1 1h1v1h-1z"/>',
        '<path opacity="0.5" d="M1 0h1v1h-1z"/>',
        '<path opacity="1" d="M0 0h1v1h-1z"/>',
    ]


def test_the_page_says_what_it_leaves_out() -> None:
    """The number of heads without a picture."""
    found = list(facts_of({"": random_weights(5)}, range(5), range(3), cells))
    assert "2 more heads are not shown here" in to_html(found, "w.npy")
