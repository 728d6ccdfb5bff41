"""Which submissions of a class are alike: as CSV, a row a pair, and as plain text for the terminal. Says what it is, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from trainer.classroom.likeness import Pair, Passage
from trainer.display.asked import wrapped
from trainer.display.class_words import visible
from trainer.display.gradebook import cell_of, csv_line  # a student is spelt here as in grades.csv

Found = Sequence[tuple[str, Sequence[Pair]]]  # the pairs of each challenge, by its id

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
    "This is a hint where to look, no verdict: people who work on their own write short answers that are alike too, and a copy that was rewritten is not "
    "found. Read both files before you speak to anybody."
)
NOTHING = (
    "No two submissions are alike beyond what the stub and the known answers explain. That is no proof either: answers that are short, or written as half "
    "of the class wrote them, say nothing."
)

_MOST_SHOWN = 20  # pairs of a challenge, on the terminal
_MOST_NAMED = 8  # students of a group
_LONGEST_NAME = 40


def likeness_csv(found: Found) -> str:
    """The whole file, the header first. `share` and `rare` are 0 to 1, `same` is yes where only layout and comments differ, lines read `L3-L9 L20-L31`."""
    rows = [
        COLUMNS,
        *((cell_of(challenge), *_cells(pair)) for challenge, pairs in found for pair in pairs),
    ]
    return "".join(csv_line(row) for row in rows)


def _cells(pair: Pair) -> tuple[str, ...]:
    # Not `3-9`, which a spreadsheet takes for a day.
    one, other = (
        " ".join(f"L{first}-L{last}" for first, last in lines) for lines in _lines(pair.passages)
    )
    return (
        cell_of(pair.one),
        cell_of(pair.other),
        f"{pair.share:.2f}",
        str(pair.shared),
        f"{pair.rare:.2f}",
        "yes" if pair.same else "no",
        one,
        other,
    )


def likeness_text(found: Found, width: int = 80) -> str:
    """What was found, by challenge: groups of copies first, then pairs with the lines to compare. It begins by saying that it is a hint."""
    if not any(pairs for _, pairs in found):
        return wrapped(NOTHING, width)
    parts = [wrapped(HINT, width)]
    for challenge, pairs in found:
        if pairs:
            parts.append(
                wrapped(f"{visible(challenge)}: alike beyond the stub and the known answers", width)
            )
            parts += _groups([pair for pair in pairs if pair.same], width)
            parts += _pairs([pair for pair in pairs if not pair.same], width)
    return "\n\n".join(parts)


def _groups(copies: Sequence[Pair], width: int) -> Iterator[str]:
    """Each is paired with the first of its group, and said in one sentence with it."""
    for first, pairs in groupby(
        sorted(copies, key=lambda pair: (pair.one, pair.other)), key=lambda pair: pair.one
    ):
        students = [first, *(pair.other for pair in pairs)]
        names = ", ".join(_name(student) for student in students[:_MOST_NAMED])
        more = f" and {len(students) - _MOST_NAMED} more" if len(students) > _MOST_NAMED else ""
        yield wrapped(
            f"{len(students)} files are the same but for layout and comments: {names}{more}.",
            width,
            "  ",
        )


def _pairs(pairs: Sequence[Pair], width: int) -> Iterator[str]:
    for pair in pairs[:_MOST_SHOWN]:
        names = (_name(pair.one), _name(pair.other))
        places = "1 place" if pair.shared == 1 else f"{pair.shared} places"
        told = [
            wrapped(
                f"{names[0]} and {names[1]}: {pair.share:.0%} of what is the shorter one's own, in {places}",
                width,
                "  ",
            )
        ]
        for name, lines in zip(names, _lines(pair.passages), strict=True):
            told.append(
                wrapped(f"{name}: lines {', '.join(_range(*one) for one in lines)}", width, "    ")
            )
        yield "\n".join(told)
    if (more := len(pairs) - _MOST_SHOWN) > 0:
        yield f"  and {more} more"


def _lines(passages: Sequence[Passage]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    return [one.one for one in passages], [one.other for one in passages]


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _name(student: str) -> str:
    """What would act on a terminal is shown as its escape, and a long name is cut."""
    shown = visible(student)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 3]}..."
