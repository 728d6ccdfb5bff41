"""Write HTML pages from the templates in `templates/`. A page is one file that works offline."""

from __future__ import annotations

import base64
import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from attn_drill.exercises.interview import ScoreSheet
from attn_drill.model.report import Diagnosis, ErrorMap, Mismatch, Report
from attn_drill.model.words import plural
from attn_drill.report import results_text
from attn_drill.report._diagnosis_text import (
    LEVELS,
    findings,
    mask_words,
    pattern_words,
    place_words,
    tells,
    title_of,
)
from attn_drill.report._diagnosis_text import level as level_of
from attn_drill.report.code_text import source_lines
from attn_drill.report.terminal import VERDICTS, next_commands
from attn_drill.report.tools_text import greatest, heads_summary, index_in_words
from attn_drill.report.wording import (
    Stage,
    affected,
    case_rows,
    number,
    ruled_out,
    sentence,
    statistics_rows,
    visible,
)

if TYPE_CHECKING:
    from attn_drill.tools.attention_heads import HeadFacts

Cell = TypeVar("Cell")
Kind = TypeVar("Kind", str, int)
_AROUND = 8  # lines above and below the marked line


def page(template: str, **data: object) -> Iterator[str]:
    """Yield the page of a template, e.g. "class", in small pieces. It reads iterators late."""
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
    """Return a tint from 0 to 16: the square root of a weight; -1 if it is negative, NaN or None.

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


@dataclass(frozen=True)
class Grid:
    """A picture of unit squares."""

    title: str
    width: int  # columns
    height: int  # rows
    squares: Sequence[tuple[str, str]]  # CSS classes and SVG paths
    bar: int = 0  # the column before which a bar stands; 0 for none


def report_page(
    report: Report, stage: Stage = "cause", file: str | None = None, options: str = ""
) -> str:
    """Return the whole page. The arguments are those of `terminal.show`."""
    failure = report.first_failure()
    diagnosis = report.diagnosis or Diagnosis()
    mismatch = failure.mismatch if failure is not None else None
    frame = diagnosis.first_line
    if frame is None and failure is not None and failure.frames:
        frame = failure.frames[-1]
    lines = source_lines(report.source) if report.source else []
    numbered = list(enumerate(lines, start=1))
    excerpt: list[tuple[int, str]] = []
    if frame is not None and 0 < frame.line <= len(lines):
        excerpt = numbered[max(0, frame.line - 1 - _AROUND) : frame.line + _AROUND]
    pieces = page(
        "report",
        report=report,
        verdict=VERDICTS[report.verdict],
        failure=failure,
        case=report.cases[failure.number - 1] if failure and failure.number else None,
        findings=findings(report, stage),
        frame=frame,
        place=sentence(place_words(diagnosis, failure.number)) if failure else "",
        diagnosis=diagnosis,
        excerpt=excerpt,
        numbered=numbered,
        matrices=list(_matrices(diagnosis, mismatch)),
        heads=list(_heads(diagnosis)),
        maps=list(map(error_grid, filter(tells, mismatch.error_maps))) if mismatch else [],
        levels=LEVELS,
        figures=list(_figures(report)),
        commands=list(next_commands(report, report.file if file is None else file, options)),
    )
    return "".join(pieces)


def _matrices(
    diagnosis: Diagnosis, mismatch: Mismatch | None
) -> Iterator[tuple[str, str, list[Grid]]]:
    """Yield the title, the meaning and both pictures of the mask and of a boolean output."""
    mask = diagnosis.effective_mask
    if mask is not None and mask.difference:
        pair = _mask_grids(mask.actual, mask.expected, mask.cached)
        yield "The mask", mask_words(mask, "dark"), pair
    if mismatch is not None and mismatch.patterns is not None:
        patterns = mismatch.patterns
        pair = _mask_grids(patterns.actual, patterns.expected)
        yield mismatch.tensor, pattern_words(patterns, "dark"), pair


def _mask_grids(actual: Sequence[str], expected: Sequence[str], cached: int = 0) -> list[Grid]:
    """Return the pictures of two matrices of `#` and `.`. Differing cells have own classes."""
    grids: list[Grid] = []
    for title, rows, others, differs in (
        ("yours", actual, expected, "wrong"),
        ("expected", expected, actual, "right"),
    ):
        classes = {"##": "on", "..": "off", "#.": f"on {differs}", ".#": f"off {differs}"}
        # Each cell with the cell at its place in the other matrix.
        pairs: list[list[str]] = []
        for row, other_row in zip(rows, others, strict=True):
            pairs.append([cell + other for cell, other in zip(row, other_row, strict=True)])
        width = len(rows[0]) if rows else 0
        grids.append(Grid(title, width, len(rows), squares(pairs, classes.__getitem__), cached))
    return grids


def error_grid(error_map: ErrorMap) -> Grid:
    """Return the picture of an error map, with the classes `level-0` to `level-4`."""
    paths = squares(error_map.off, lambda off: f"level-{level_of(off)}")
    return Grid(title_of(error_map), len(error_map.off[0]), len(error_map.off), paths)


def _heads(diagnosis: Diagnosis) -> Iterator[tuple[Grid, Grid]]:
    """Yield the heat maps of both weights of each head, if they differ. A class is a tint."""
    attention = diagnosis.attention
    if attention is None:
        return
    for head, (actual_rows, right) in enumerate(
        zip(attention.actual, attention.expected, strict=True)
    ):
        name = f"head {head}, " if len(attention.actual) > 1 else ""
        actual = _heat_map(f"{name}yours", actual_rows)
        expected = _heat_map(f"{name}expected", right)
        if actual.squares != expected.squares:
            yield actual, expected


def _heat_map(title: str, rows: Sequence[Sequence[float | None]]) -> Grid:
    paths: list[tuple[str, str]] = []
    for shade, path in squares(rows, tint):
        if shade:
            paths.append(("strange" if shade < 0 else f"tint-{shade}", path))
    return Grid(title, len(rows[0]) if rows else 0, len(rows), paths)


def _figures(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table: the case, the difference, and what is ruled out."""
    failure = report.first_failure()
    if failure is None:
        return
    if failure.number is not None:
        yield from case_rows(report.cases[failure.number - 1], report.signatures)
    if failure.mismatch is not None:
        if along := affected(failure.mismatch.affected):
            yield "along", along
        yield from statistics_rows(failure.mismatch)
    yield from ruled_out(report.diagnosis)


def score_sheet_page(sheet: ScoreSheet) -> str:
    """Return the whole page, with the words of the terminal."""
    return "".join(page("score_sheet", sheet=sheet, words=results_text))


def page_cells(length: int, *, whole: bool = False) -> tuple[int, int]:
    """Return the rows and columns of a head's picture, which is larger if it is the only one."""
    side = min(length, 64 if whole else 32)
    return side, side


def heads_page(facts: Sequence[HeadFacts], file: str) -> str:
    """Return the page: a picture of each head that has a grid, and a count of the other heads."""
    heads = [head for head in facts if head.grid]
    pieces = page(
        "heads",
        file=file,
        summary=heads_summary(facts).replace("  ", ", "),
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
