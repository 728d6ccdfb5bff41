"""A report as one HTML page, from `templates/report.html.jinja`. It opens offline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attn_drill.model.report import Diagnosis, ErrorMap, Report
from attn_drill.report.code_text import source_lines
from attn_drill.report.diagnosis_text import findings, mask_words, pattern_words, place_words
from attn_drill.report.pages import page, squares, tint
from attn_drill.report.picture_text import LEVELS, tells, title_of
from attn_drill.report.picture_text import level as level_of
from attn_drill.report.stages import Stage
from attn_drill.report.terminal import VERDICTS, next_commands
from attn_drill.report.wording import affected, case_rows, ruled_out, sentence, statistics_rows

_AROUND = 8  # lines above and below the marked line


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
        matrices=list(_matrices(report)),
        heads=list(_heads(diagnosis)),
        maps=list(map(error_grid, filter(tells, mismatch.error_maps))) if mismatch else [],
        levels=LEVELS,
        figures=list(_figures(report)),
        commands=list(next_commands(report, report.file if file is None else file, options)),
    )
    return "".join(pieces)


def _matrices(report: Report) -> Iterator[tuple[str, str, list[Grid]]]:
    """Yield the title, the meaning and both pictures of the mask and of a boolean output."""
    failure = report.first_failure()
    mask = report.diagnosis.effective_mask if report.diagnosis else None
    if mask is not None and mask.difference:
        pair = _mask_grids(mask.actual, mask.expected, mask.cached)
        yield "The mask", mask_words(mask, "dark"), pair
    mismatch = failure.mismatch if failure is not None else None
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
    count = len(attention.actual)
    for head in range(count):
        name = f"head {head}, " if count > 1 else ""
        actual = _heat_map(f"{name}yours", attention.actual[head])
        expected = _heat_map(f"{name}expected", attention.expected[head])
        if actual.squares != expected.squares:
            yield actual, expected


def _heat_map(title: str, rows: Sequence[Sequence[float | None]]) -> Grid:
    paths = [
        ("strange" if shade < 0 else f"tint-{shade}", path)
        for shade, path in squares(rows, tint)
        if shade
    ]
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
