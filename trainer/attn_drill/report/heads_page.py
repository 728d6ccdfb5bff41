"""Facts about attention heads as one HTML page, from `templates/heads.html.jinja`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attn_drill.report.heads_text import greatest, index_in_words, summary
from attn_drill.report.pages import page, squares, tint

if TYPE_CHECKING:  # not at run time: it imports torch
    from attn_drill.tools.attention_heads import HeadFacts

# The most rows and columns of a small and of a large picture.
_CELLS, _WHOLE_CELLS = 32, 64


def page_cells(length: int, *, whole: bool = False) -> tuple[int, int]:
    """Return the rows and columns of a picture, which has more of them if it is the only one."""
    most = min(length, _WHOLE_CELLS if whole else _CELLS)
    return most, most


def heads_page(facts: Sequence[HeadFacts], file: str) -> str:
    """Return the page: a picture of each head that has a grid, and a count of the other heads."""
    heads = [head for head in facts if head.grid]
    pieces = page(
        "heads",
        file=file,
        summary=summary(facts).replace("  ", ", "),
        heads=heads,
        more=len(facts) - len(heads),
        greatest=greatest,
        index_in_words=index_in_words,
        squares_by_opacity=_squares_by_opacity,
    )
    return "".join(pieces)


def _squares_by_opacity(head: HeadFacts) -> list[tuple[float, str]]:
    """Return the cells that are not empty: opacities and SVG paths of unit squares."""
    most = greatest(head) or 1.0
    # Cells that are not attention weights come first and have a negative opacity.
    paths = squares(head.grid, lambda weight: tint(weight / most))
    return [(shade / 16, path) for shade, path in paths if shade]
