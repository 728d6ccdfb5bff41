"""The words, stages and styles of reports, without rich."""

from __future__ import annotations

import math
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, get_args

from attn_drill.model.case import Case, axes
from attn_drill.model.checks import Verdict

if TYPE_CHECKING:
    from attn_drill.model.challenge import Signature
    from attn_drill.model.report import Affected, Diagnosis, Mismatch, Report, Summary

RIGHT, WRONG, QUIET = "dodger_blue1", "dark_orange", "dim"
WIDEST = 100  # columns; longer lines of prose are hard to read
_TELLING_FACTOR = 1.5  # between two deviations

VERDICT_WORDS: dict[Verdict, str] = {
    "passed": "passed",
    "failed": "failed",
    "error": "error",
    "timeout": "time limit",
    "memory": "out of memory",
    "not-allowed": "not allowed",
}
# The name of each letter that challenges use for a dimension.
NAMES = {
    "B": "batch",
    "H": "heads",
    "Hkv": "kv heads",
    "L": "positions",
    "Lq": "queries",
    "Lk": "keys",
    "M": "features",
    "D": "features",
    "Dv": "features",
}
# Each stage shows more than the stage before it: the picture, the line, the questions of the likely
# mistakes, the mistakes themselves.
Stage = Literal["where", "line", "question", "cause"]
STAGES: tuple[Stage, ...] = get_args(Stage)
STAGE_WORDS: dict[Stage, str] = {
    "where": "the place",
    "line": "the line",
    "question": "a question about the mistake",
    "cause": "the likely mistake",
}
# The verdict is in capitals at the start of the text. A check has a symbol before its name. A wrong
# entry has a star after it.
_COLOURED = re.compile(
    r"(?P<verdict>\A[A-Z][A-Z ]+[A-Z](?=  ))"
    r"|(?:^|(?<=  ))(?P<check>[✓✗–] \S+(?: \S+)*)"
    r"|(?<![\w.*-])(?P<starred>(?:-?(?:[\d.]+(?:e[+-]?\d+)?|inf)|nan|True|False)\*)(?=\s|$)",
    re.MULTILINE,
)
_KINDS = {"✓": "right", "–": "quiet"}
# A submission could draw on the terminal with escape sequences, or change the direction of writing
# with certain characters. All characters but the usual ones are looked at.
_SUSPECT = re.compile(r"[^ -~]")
_SUSPECT_IN_LINES = re.compile(r"[^ -~\n\t]")
# Names in Persian and in Indic scripts are spelt with them.
_JOINERS = "\u200c\u200d"


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return the text with an escape in place of each character that could act.

    A lone surrogate of a file name, which cannot be written, is one of them. With `lines`, tabs and
    line ends stay, and all line ends become `\n`.

    >>> visible("a\x1b[2J\n")
    'a\\x1b[2J\\n'
    """
    if not lines:
        return _SUSPECT.sub(_shown, text)
    return _SUSPECT_IN_LINES.sub(_shown, text.replace("\r\n", "\n").replace("\r", "\n"))


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def wrapped(text: str, width: int, indent: str = "", hanging: str = "") -> str:
    """Return prose with its line ends in lines of this width and at most 100 columns.

    No path or other long word is broken. A line that continues another begins with `hanging` too.

    >>> wrapped("a) one two three four five", 20, hanging="   ")
    'a) one two three\\n   four five'
    """
    fill = textwrap.TextWrapper(
        max(20, min(width, WIDEST)),
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ).fill
    # An empty line gets no blanks.
    return "\n".join(fill(line) if line.strip() else "" for line in text.splitlines())


def for_stream(text: str, stream: TextIO, hanging: str = "") -> str:
    """Return prose, wrapped if the stream is a terminal. Elsewhere a program may read it."""
    if not stream.isatty():
        return text
    return wrapped(text, shutil.get_terminal_size((80, 24)).columns, hanging=hanging)


def near(path: Path) -> Path:
    """Return a path as the user would type it in the current folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def sentence(words: str) -> str:
    """Return words with a capital letter and a full stop; "" for no words.

    >>> sentence("the scale is missing")
    'The scale is missing.'
    """
    shown = visible(words, lines=True)
    return f"{shown[0].upper()}{shown[1:]}." if shown else ""


def number(value: float) -> str:
    """Return a number in at most 8 characters.

    >>> [number(value) for value in (0, 0.36614, -123.456, 12345.6, 1e-7, -math.inf)]
    ['0', '0.3661', '-123.46', '1.2e+04', '1.0e-07', '-inf']
    """
    if value == 0 or not math.isfinite(value):
        return str(value or 0)
    if 1e-3 <= abs(value) < 100:
        return f"{value:.4f}"
    return f"{value:.2f}" if 100 <= abs(value) < 1e4 else f"{value:.1e}"


def small_tensors(case: Case) -> list[tuple[str, str]]:
    """Return the name and the rows of each input that is a matrix of at most 8 x 8."""
    matrices: list[tuple[str, str]] = []
    for name, value in case.inputs.items():
        # An input is a tensor, or a list of rows if the report comes from another process.
        shape = getattr(value, "shape", None)
        if shape is not None and len(shape) == 2 and max(shape) <= 8:
            # This package does not import torch, so mypy does not know tensors.
            value = value.tolist()  # type: ignore[attr-defined]
        if isinstance(value, list) and value and all(isinstance(row, list) for row in value):
            lines = [" ".join(f"{number(float(entry)):>8}" for entry in row) for row in value]
            matrices.append((name, "\n".join(lines)))
    return matrices


def index_in_words(index: tuple[int, ...], dims: str, sizes: Mapping[str, int]) -> str:
    """Return an index with the letter of each dimension, also of those that an axis joins.

    >>> index_in_words((1, 5), "B (H D)", {"B": 2, "H": 3, "D": 4})
    'b=1 h=1 d=1'
    >>> index_in_words((1, 5), "", {})
    '[1, 5]'
    """
    letters = axes(dims)
    if not dims or len(letters) != len(index):
        return str(list(index))
    parts: list[str] = []
    for axis, position in zip(letters, index, strict=True):
        axis_parts: list[str] = []
        for letter in reversed(axis):
            position, rest = divmod(position, sizes[letter])
            axis_parts.append(f"{letter.lower()}={rest}")
        parts += reversed(axis_parts)
    return " ".join(parts)


def ranges(indices: Sequence[int]) -> str:
    """Return ascending indices as ranges.

    >>> ranges((0, 1, 2, 3, 7, 9, 10))
    '0-3, 7, 9, 10'
    """
    parts: list[str] = []
    # In a run of neighbours, the index minus its position stays the same.
    for _, pairs in groupby(enumerate(indices), key=lambda pair: pair[1] - pair[0]):
        run = [index for _, index in pairs]
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return ", ".join(parts)


def dimension(letter: str) -> str:
    """Return the name of a dimension with its letter.

    >>> dimension("H"), dimension("T")
    ('heads (H)', 'T')
    """
    return f"{NAMES[letter]} ({letter})" if letter in NAMES else letter


def affected(dimensions: Sequence[Affected]) -> str:
    """Return the wrong and right indices along dimensions: `heads (H) wrong 1, 3, right 0, 2`."""
    parts: list[str] = []
    for axis in dimensions:
        right = [index for index in range(axis.size) if index not in axis.wrong]
        # A dimension whose indices are all wrong tells nothing.
        if right:
            words = f"wrong {ranges(axis.wrong)}, right {ranges(right)}"
            parts.append(f"{dimension(axis.dim)} {words}")
    return "; ".join(parts)


def summary(tensor: Summary) -> str:
    """Return the summary of a tensor: `mean 0.01  std 0.98  from -2.3 to 2.1`."""
    text = f"mean {number(tensor.mean)}  std {number(tensor.std)}"
    text += f"  from {number(tensor.low)} to {number(tensor.high)}"
    return f"{text}  not finite {tensor.not_finite}" if tensor.not_finite else text


def plain_inputs(case: Case, signatures: Sequence[Signature] = ()) -> str:
    """Return the arguments that are numbers, words or tuples: `d_model=24, num_heads=6`."""
    function = called_function(case, signatures)
    names: set[str] = set()
    for signature in signatures:
        if function in ("", signature.name):
            names.update(parameter.name for parameter in signature.parameters)
    shown: list[str] = []
    for name, value in case.inputs.items():
        # Other inputs are instructions for the grader.
        if signatures and name not in names:
            continue
        entries = value if isinstance(value, tuple | list) else [value]
        if not entries or not all(isinstance(entry, bool | int | float | str) for entry in entries):
            continue
        if isinstance(value, list):
            value = tuple(value)
        # A tensor that is given twice is shown by its name: `key=query`.
        is_alias = isinstance(value, str) and value in case.inputs
        shown.append(f"{name}={value if is_alias else repr(value)}")
    return ", ".join(shown)


def case_rows(case: Case, signatures: Sequence[Signature]) -> Iterator[tuple[str, str]]:
    """Yield labels and words for the sizes, the arguments and the setup of a case."""
    if case.sizes:
        yield "sizes", sizes_in_words(case)
    function, arguments = called_function(case, signatures), plain_inputs(case, signatures)
    if function:
        yield "call", f"{function}({arguments})"
    elif arguments:
        yield "inputs", arguments
    if case.dims:
        setup = [case.dtype, f"{case.mode} mode"]
        setup += [f"{name} {layout} in memory" for name, layout in case.layout.items()]
        if case.init:
            values = ", ".join(f"{name}={value}" for name, value in case.init.items())
            setup.append(f"constructor ({values})")
        yield "setup", ", ".join(setup)


def statistics_rows(mismatch: Mismatch) -> Iterator[tuple[str, str]]:
    """Yield the statistics of a wrong tensor and of the expected tensor, if they tell something."""
    actual, expected = mismatch.actual_summary, mismatch.expected_summary
    if mismatch.expected_type == "bool" or actual is None or expected is None:
        return
    smaller, larger = sorted([actual.std, expected.std])
    tells = larger > _TELLING_FACTOR * smaller or actual.not_finite != expected.not_finite
    if tells or abs(actual.mean - expected.mean) > expected.std:
        yield "yours", summary(actual)
        yield "expected", summary(expected)


def ruled_out(diagnosis: Diagnosis | None) -> Iterator[tuple[str, str]]:
    """Yield a label and the parts that are not wrong, if the diagnosis knows any."""
    if diagnosis is not None and diagnosis.cleared:
        yield "ruled out", ", ".join(diagnosis.cleared)


def called_function(case: Case, signatures: Sequence[Signature]) -> str:
    """Return the function of the contract that a case calls, if there are several; else ""."""
    name = case.inputs.get("function")  # packs choose with it what to call
    return next((signature.name for signature in signatures if signature.name == name), "")


def sizes_in_words(case: Case) -> str:
    """Return the sizes of a case: `B=2 L=7 H=6`."""
    return " ".join(f"{letter}={size}" for letter, size in case.sizes.items())


def shows(stage: Stage, part: Stage) -> bool:
    """Return whether a report at a stage shows a part."""
    return STAGES.index(stage) >= STAGES.index(part)


def stages_of(report: Report) -> list[Stage]:
    """Return the stages at which the report on a failure shows something new, in order."""
    stages: list[Stage] = ["where"]
    diagnosis, failure = report.diagnosis, report.first_failure()
    parts: list[object] = [] if failure is None else [failure.frames]
    if failure is not None and diagnosis is not None:
        parts += [diagnosis.first_line, diagnosis.first_missed]
        parts += [diagnosis.layout, diagnosis.cleared]
    if any(parts):
        stages.append("line")
    if diagnosis is not None and any(mistake.hint for mistake in diagnosis.mistakes):
        stages.append("question")
    if has_cause(report):
        stages.append("cause")
    return stages


def has_cause(report: Report) -> bool:
    """Return whether the diagnosis names a mistake, or describes the mask."""
    diagnosis = report.diagnosis
    mask = diagnosis and diagnosis.effective_mask
    return bool((diagnosis and diagnosis.mistakes) or (mask and mask.difference))


def next_stage(report: Report, stage: Stage) -> Stage | None:
    """Return the next stage that shows something new; None if there is none."""
    return next((later for later in stages_of(report) if not shows(stage, later)), None)


def coloured(report_text: str) -> Iterator[tuple[str, str]]:
    """Yield CSS classes, or "", and a piece of the report, whose end has no white space."""
    text = report_text.rstrip()
    end = 0
    for match in _COLOURED.finditer(text):
        yield "", text[end : match.start()]
        classes = _KINDS.get(match[0][0], "wrong")
        if match["verdict"]:
            classes = "right verdict" if match["verdict"] == "PASSED" else "wrong verdict"
        yield classes, match[0]
        end = match.end()
    yield "", text[end:]
