"""Write HTML pages from the templates in `templates/`: one for each page, on a common base.

A page is one file that opens offline. Every value that a template shows goes through `visible` and
is then escaped by Jinja, so no text of a student or of a file can act, whatever the template does.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from trainer.report.visible import visible
from trainer.report.wording import counted, number


def page(template: str, **data: object) -> Iterator[str]:
    """Yield a page in small pieces, while the iterators in `data` are read.

    Args:
        template: the name without its ending, for example "class".
        data: what the template names.

    Raises:
        jinja2.UndefinedError: if the template names something that `data` lacks.
    """
    return _environment().get_template(f"{template}.html.jinja").generate(data)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        counted=counted, digest=_digest, fixed=_fixed, lines=_lines, number=number, percent=_percent
    )
    return environment


def _inert(value: object) -> object:
    """Return a value as a template may show it; Jinja calls this before it escapes."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def _lines(text: str) -> Markup:
    """Return text of several lines, escaped; line ends and tabs stay."""
    return escape(visible(text, lines=True))


def _digest(inline: str) -> str:
    """Return the source expression that lets this style or script in: `'sha256-…'`."""
    digest = hashlib.sha256(inline.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _fixed(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}"


def _percent(share: float) -> str:
    """Return a share of 0 to 1 as `42%`."""
    return f"{share:.0%}"
