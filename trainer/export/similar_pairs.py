"""Show the similar submissions of a class, as CSV with one row for each pair and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from trainer.classroom.similarity import Lines, Pair
from trainer.export.grade_tables import cell_of, csv_line  # the same names as in grades.csv
from trainer.report.visible import visible
from trainer.report.wording import wrapped

PairsByChallenge = Sequence[tuple[str, Sequence[Pair]]]  # the pairs of each challenge, by its id

COLUMNS = (
    "challenge",
    "student",
    "other",
    "share",
    "shared",
    "rare",
    "same",
    "lines",
    "other_lines",
)
HINT = (
    "This is a hint where to look, not a verdict: students who work alone also write similar short "
    "answers, and a rewritten copy is not found. Names, strings and the names of functions do not "
    "count. Read both files before you speak to anybody."
)
NOTHING = (
    "No two submissions are more similar than the stub and the known answers explain. This is not "
    "a proof: short answers, and answers that half of the class wrote, show nothing."
)

_MOST_SHOWN = 20  # pairs of a challenge, on the terminal
_MOST_NAMED = 8  # students of a group
_LONGEST_NAME = 40


def similarity_csv(pairs_by_challenge: PairsByChallenge) -> str:
    """Return the text of the file, with the header first.

    The columns `share` and `rare` are 0 to 1, `shared` counts fingerprints, `same` is yes if only
    layout and comments differ, and `lines` has the form `L3-L9 L20-L31`.
    """
    lines = [csv_line(COLUMNS)]
    for challenge, pairs in pairs_by_challenge:
        lines += [csv_line((cell_of(challenge), *_cells(pair))) for pair in pairs]
    return "".join(lines)


def _cells(pair: Pair) -> tuple[str, ...]:
    return (
        cell_of(pair.student),
        cell_of(pair.other),
        f"{pair.share:.2f}",
        str(pair.shared),
        f"{pair.rare:.2f}",
        "yes" if pair.same else "no",
        _lines_cell(pair.lines),
        _lines_cell(pair.other_lines),
    )


def _lines_cell(passages: Sequence[Lines]) -> str:
    # A spreadsheet would read `3-9` as a date.
    return " ".join(f"L{first}-L{last}" for first, last in passages)


def similarity_text(pairs_by_challenge: PairsByChallenge, width: int = 80) -> str:
    """Return the hint, then for each challenge groups of copies and pairs with their lines."""
    if not any(pairs for _, pairs in pairs_by_challenge):
        return wrapped(NOTHING, width)
    parts = [wrapped(HINT, width)]
    for challenge, pairs in pairs_by_challenge:
        if pairs:
            title = f"{visible(challenge)}: similar beyond the stub and the known answers"
            parts.append(wrapped(title, width))
            parts += _groups([pair for pair in pairs if pair.same], width)
            parts += _pairs([pair for pair in pairs if not pair.same], width)
    return "\n\n".join(parts)


def _groups(copies: Sequence[Pair], width: int) -> Iterator[str]:
    """Yield one sentence for each group. All pairs of a group have the same first student."""
    in_order = sorted(copies, key=lambda pair: (pair.student, pair.other))
    for first, pairs in groupby(in_order, key=lambda pair: pair.student):
        students = [first, *(pair.other for pair in pairs)]
        names = ", ".join(_name(student) for student in students[:_MOST_NAMED])
        more = len(students) - _MOST_NAMED
        if more > 0:
            names += f" and {more} more"
        sentence = f"{len(students)} files differ only in layout and comments: {names}."
        yield wrapped(sentence, width, "  ")


def _pairs(pairs: Sequence[Pair], width: int) -> Iterator[str]:
    for pair in pairs[:_MOST_SHOWN]:
        student, other = _name(pair.student), _name(pair.other)
        share = f"{pair.share:.0%} of the smaller file's own code, {pair.shared} fingerprints"
        yield "\n".join(
            [
                wrapped(f"{student} and {other}: {share}", width, "  "),
                wrapped(f"{student}: lines {_line_list(pair.lines)}", width, "    "),
                wrapped(f"{other}: lines {_line_list(pair.other_lines)}", width, "    "),
            ]
        )
    if (more := len(pairs) - _MOST_SHOWN) > 0:
        yield f"  and {more} more"


def _line_list(passages: Sequence[Lines]) -> str:
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in passages]
    return ", ".join(shown)


def _name(student: str) -> str:
    """Return a name with escaped control characters. Cut a long name."""
    shown = visible(student)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 3]}..."
