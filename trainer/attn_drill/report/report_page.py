"""A report as one HTML page, from `templates/report.html.jinja`. It opens offline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attn_drill.model.report import Diagnosis, ErrorMap, Frame, Mismatch, Report
from attn_drill.report.code_text import source_lines
from attn_drill.report.diagnosis_text import (
    findings,
    mask_words,
    pattern_words,
    place_words,
)
from attn_drill.report.pages import page, squares, tint
from attn_drill.report.picture_text import LEVELS, tells, title_of
from attn_drill.report.picture_text import level as level_of
from attn_drill.report.stages import Stage
from attn_drill.report.terminal import VERDICTS, next_commands
from attn_drill.report.wording import affected, case_rows, ruled_out, sentence, statistics_rows

_AROUND = 8  # lines above and below the marked line


@dataclass(frozen=True)
class Grid:
    """A picture of unit squares.

    Attributes:
        title: its heading.
        width, height: the numbers of columns and rows.
        squares: pairs of a CSS class and an SVG path.
        bar: the column before which a bar stands; 0 for none.
    """

    title: str
    width: int
    height: int
    squares: Sequence[tuple[str, str]]
    bar: int = 0


def to_html(
    report: Report, stage: Stage = "cause", file: str | None = None, options: str = ""
) -> str:
    """Return the whole page.

    Args:
        report: the report.
        stage: how much of the diagnosis to show.
        file: the argument FILE of the commands; "" if they find the file without it. None stands
            for the file of the report.
        options: options of the commands, with a space before each.
    """
    failure, diagnosis = report.first_failure(), report.diagnosis
    mismatch = failure.mismatch if failure is not None else None
    frame = diagnosis.first_line if diagnosis is not None else None
    if frame is None and failure is not None and failure.frames:
        frame = failure.frames[-1]
    attention = diagnosis.attention if diagnosis is not None else None
    pieces = page(
        "report",
        report=report,
        verdict=VERDICTS[report.verdict],
        statuses=list(report.statuses().items()),
        failure=failure,
        case=report.cases[failure.number - 1] if failure and failure.number else None,
        findings=findings(report, stage),
        frame=frame,
        place=sentence(place_words(diagnosis, failure.number)) if diagnosis and failure else "",
        elsewhere=diagnosis.elsewhere if diagnosis else (),
        excerpt=_excerpt(report, frame),
        lines=source_lines(report.source) if report.source else [],
        matrices=list(_matrices(diagnosis, mismatch)),
        item=attention.item if attention else None,
        heads=_head_grids(attention.actual, attention.expected) if attention else [],
        tensor=mismatch.tensor if mismatch else "",
        maps=[error_grid(found) for found in mismatch.error_maps if tells(found)]
        if mismatch
        else [],
        levels=[level.words for level in LEVELS],
        figures=list(_figures(report)),
        commands=list(next_commands(report, report.file if file is None else file, options)),
    )
    return "".join(pieces)


def _matrices(
    diagnosis: Diagnosis | None, mismatch: Mismatch | None
) -> Iterator[tuple[str, str, tuple[Grid, Grid]]]:
    """Yield the title, the meaning and both pictures of the mask and of a boolean output."""
    mask = diagnosis.effective_mask if diagnosis else None
    if mask is not None and mask.difference:
        pair = _pair(mask.actual, mask.expected, mask.cached)
        yield "The mask", mask_words(mask, "dark"), pair
    if mismatch is not None and mismatch.patterns is not None:
        patterns = mismatch.patterns
        words = pattern_words(patterns, "dark")
        yield mismatch.tensor, words, _pair(patterns.actual, patterns.expected)


def _excerpt(report: Report, frame: Frame | None) -> list[tuple[int, str]]:
    """Return the numbered lines around the marked line; [] if no line is known."""
    lines = source_lines(report.source)
    if frame is None or not 0 < frame.line <= len(lines):
        return []
    first = max(1, frame.line - _AROUND)
    return list(enumerate(lines[first - 1 : frame.line + _AROUND], start=first))


def error_grid(found: ErrorMap) -> Grid:
    """Return the picture of an error map, with the classes `level-0` to `level-4`."""
    paths = squares(found.off, lambda off: f"level-{level_of(off)}")
    return Grid(title_of(found), len(found.off[0]), len(found.off), paths)


def _pair(actual: Sequence[str], expected: Sequence[str], cached: int = 0) -> tuple[Grid, Grid]:
    """Return the pictures of two matrices of `#` and `.`. Differing cells have own classes."""
    return (
        _mask_grid("yours", actual, expected, "wrong", cached),
        _mask_grid("expected", expected, actual, "right", cached),
    )


def _mask_grid(
    title: str, rows: Sequence[str], others: Sequence[str], differs: str, cached: int
) -> Grid:
    def kind_of(pair: tuple[str, str]) -> str:
        cell, other = pair
        kind = "on" if cell == "#" else "off"
        return f"{kind} {differs}" if cell != other else kind

    pairs = [zip(row, other, strict=True) for row, other in zip(rows, others, strict=True)]
    width = len(rows[0]) if rows else 0
    return Grid(title, width, len(rows), squares(pairs, kind_of), cached)


def _head_grids(
    actual: Iterable[Sequence[Sequence[float | None]]],
    expected: Iterable[Sequence[Sequence[float | None]]],
) -> list[tuple[Grid, Grid]]:
    """Return the heat maps of both weights of each head, if they differ. A class is a tint."""
    pairs = list(zip(actual, expected, strict=True))
    names = [f"head {head}, " for head in range(len(pairs))] if len(pairs) > 1 else [""]
    grids = [
        (_heat_map(f"{name}yours", own), _heat_map(f"{name}expected", right))
        for name, (own, right) in zip(names, pairs, strict=True)
    ]
    return [(own, right) for own, right in grids if own.squares != right.squares]


def _heat_map(title: str, rows: Sequence[Sequence[float | None]]) -> Grid:
    paths = [
        ("strange" if shade < 0 else f"tint-{shade}", path)
        for shade, path in squares(rows, tint)
        if shade
    ]
    return Grid(title, len(rows[0]) if rows else 0, len(rows), paths)


def _figures(report: Report) -> Iterable[tuple[str, str]]:
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
