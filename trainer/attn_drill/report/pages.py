"""Write HTML pages from the templates in `templates/`. A page is one file that works offline."""

from __future__ import annotations

import base64
import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from attn_drill.model.quantities import plural
from attn_drill.report.visible import visible
from attn_drill.report.wording import number, sentence

Cell = TypeVar("Cell")
Kind = TypeVar("Kind", str, int)


def page(template: str, **data: object) -> Iterator[str]:
    """Yield the page of a template, e.g. "class", in small pieces.

    Iterators in `data` are read at the same time.
    """
    return _environment().get_template(f"{template}.html.jinja").generate(data)


def squares(
    rows: Iterable[Iterable[Cell]], kind_of: Callable[[Cell], Kind]
) -> list[tuple[Kind, str]]:
    """Return for each kind of cell an SVG path of its unit squares. One path keeps a page small.

    >>> squares(["##.", "#.."], str)
    [('#', 'M0 0h1v1h-1zM1 0h1v1h-1zM0 1h1v1h-1z'), ('.', 'M2 0h1v1h-1zM1 1h1v1h-1zM2 1h1v1h-1z')]
    """
    paths = defaultdict[Kind, str](str)
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            paths[kind_of(cell)] += f"M{x} {y}h1v1h-1z"
    return sorted(paths.items())


def tint(weight: float | None) -> int:
    """Return a tint from 0 to 16: the square root of a weight from 0 to 1.

    -1 stands for a value that is no weight: it is negative, NaN, or None.

    >>> [tint(weight) for weight in (0, 0.25, 1, None)]
    [0, 8, 16, -1]
    """
    return round(16 * math.sqrt(weight)) if weight is not None and weight >= 0 else -1


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        # Every value in a template goes through this function, then Jinja escapes it. So no text of
        # a student or of a file can act on the page.
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        digest=_digest,
        enumerated=lambda lines: list(enumerate(lines, start=1)),
        fixed=lambda value, decimals: f"{value:.{decimals}f}",
        # Text of several lines, whose line ends and tabs stay.
        lines=lambda text: escape(visible(text, lines=True)),
        number=number,
        percent="{:.0%}".format,
        plural=plural,
        sentence=sentence,
    )
    return environment


def _inert(value: object) -> object:
    is_plain_text = isinstance(value, str) and not isinstance(value, Markup)
    return visible(str(value)) if is_plain_text else value


def _digest(inline: str) -> str:
    """Return the policy's source expression that allows this style or script: `'sha256-…'`."""
    digest = hashlib.sha256(inline.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
