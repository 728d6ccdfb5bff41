"""Facts about attention heads as one HTML file that opens offline: a table, and a picture of each head in inline SVG. No script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from trainer.display.heads import greatest, index_in_words, one_line, summary
from trainer.display.words import number

if TYPE_CHECKING:  # not at run time: it imports torch
    from trainer.comparing.heads import HeadFacts

_CELLS, _WHOLE_CELLS = 32, 64
_TINTS = 16
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid #8884; padding: .15rem .8rem; text-align: right }
th:last-child, td:last-child, td.word, th.word { text-align: left }
.heads { display: flex; flex-wrap: wrap; gap: 1.5rem; margin: 1.5rem 0 }
figure { margin: 0 }
figcaption { max-width: 13rem }
svg { border: 1px solid #8888; display: block; fill: #06c; height: 13rem; width: 13rem }
.whole svg { height: 32rem; width: 32rem; max-width: 100%; max-height: 90vw }
.strange { fill: #d70 }
.quiet { opacity: .7 }
@media (prefers-color-scheme: dark) { svg { fill: #6bf } }
"""


def cells(length: int) -> tuple[int, int]:
    """Rows and columns of a picture among others."""
    return min(length, _CELLS), min(length, _CELLS)


def whole_cells(length: int) -> tuple[int, int]:
    """Rows and columns of a picture alone."""
    return min(length, _WHOLE_CELLS), min(length, _WHOLE_CELLS)


def to_html(facts: Sequence[HeadFacts], file: str) -> str:
    """The page: all heads that have a grid; of the others how many they are."""
    drawn = [one for one in facts if one.grid]
    title = escape(one_line(file))
    more = len(facts) - len(drawn)
    parts = [
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>{title}: heads</title>',
        f"<style>{_STYLE}</style>\n<h1>{title}</h1>\n<p>{escape(summary(facts).replace('  ', ', '))}</p>",
        _table(drawn),
        f'<div class="heads{" whole" if len(drawn) == 1 else ""}">',
        *(_figure(one) for one in drawn),
        "</div>",
        f"<p>{more} more heads are not shown here: --head N shows one, --json has all numbers.</p>"
        if more
        else "",
        '<p class="quiet">Queries down, keys across. The stronger the colour, the greater the weight: it grows with the square root of a cell over the '
        "head's max. Orange: not finite or negative. Where the sequence is longer than the picture, a cell is the mean over neighbouring positions.</p>",
    ]
    return "\n".join(part for part in parts if part) + "\n</html>\n"


def _table(facts: Sequence[HeadFacts]) -> str:
    header = [
        "head",
        "tensor",
        "index",
        "L",
        "entropy, nats",
        "of ln L",
        "distance, positions",
        "class",
        "what is strange",
    ]
    words = {"tensor", "index", "class", "what is strange"}
    first = "".join(f"<th{_class(name in words)}>{name}</th>" for name in header)
    return "\n".join([f"<table>\n<tr>{first}</tr>", *(_row(one) for one in facts), "</table>"])


def _class(word: bool) -> str:
    return ' class="word"' if word else ""


def _row(one: HeadFacts) -> str:
    share = "-" if math.isnan(one.entropy_share) else f"{one.entropy_share:.0%}"
    entropy, distance = (
        "-" if math.isnan(value) else number(value) for value in (one.entropy, one.distance)
    )
    link = f'<a href="#head-{one.number}">{one.number}</a>'
    columns = [
        (link, False),
        (escape(one_line(one.tensor)), True),
        (index_in_words(one), True),
        (str(one.length), False),
        (entropy, False),
        (share, False),
        (distance, False),
        (one.kind or "-", True),
        (escape("; ".join(one.notes)), True),
    ]
    return "<tr>" + "".join(f"<td{_class(word)}>{text}</td>" for text, word in columns) + "</tr>"


def _figure(one: HeadFacts) -> str:
    name = f"head {one.number} {escape(one_line(one.tensor))} {index_in_words(one)}"
    words = f"{one.kind or 'no class'}, max {number(greatest(one))}"
    caption = f"<figcaption><b>{' '.join(name.split())}</b><br>{words}</figcaption>"
    return f'<figure id="head-{one.number}">{_svg(one)}{caption}</figure>'


def _svg(one: HeadFacts) -> str:
    """One path for each tint, so that a picture stays small."""
    most = greatest(one)
    tints: dict[int, list[str]] = {}
    for y, row in enumerate(one.grid):
        for x, value in enumerate(row):
            tint = (
                -1
                if math.isnan(value) or value < 0
                else round(_TINTS * math.sqrt(value / most))
                if most
                else 0
            )
            if tint:
                tints.setdefault(tint, []).append(f"M{x} {y}h1v1h-1z")
    paths = [
        f'<path class="strange" d="{"".join(cells)}"/>'
        if tint < 0
        else f'<path opacity="{tint / _TINTS:g}" d="{"".join(cells)}"/>'
        for tint, cells in sorted(tints.items())
    ]
    size = len(one.grid)
    label = f"weights of head {one.number}, {one.kind or 'no class'}"
    return f'<svg viewBox="0 0 {size} {size}" shape-rendering="crispEdges" role="img" aria-label="{label}">{"".join(paths)}</svg>'
