"""Submissions that are alike: copies are found, independent answers are not, no text breaks it."""

from __future__ import annotations

import csv
import io

from trainer.classroom.records import StudentResult
from trainer.classroom.similarity import Pair
from trainer.export.gradebook import cells
from trainer.export.similar_pairs import COLUMNS, HINT, similarity_csv, similarity_text

COPIES = [
    Pair("ana", f"s{number:02}", 1.0, 120, 1.0, ((3, 9),), ((4, 10),), same=True)
    for number in range(30)
]


ALIKE = Pair(
    "bo\x1b[31m",
    "=cmd()\u202e, " + "n" * 60,
    0.923,
    310,
    0.875,
    ((3, 9), (12, 12)),
    ((20, 31), (40, 44)),
)


def test_csv() -> None:
    """One row for each pair; students as in grades.csv, lines so that no spreadsheet sees a day."""
    text = similarity_csv([("c-1", COPIES[:1]), ("c-2", []), ("c-3", [ALIKE])])
    spelt = []
    for student in (ALIKE.student, ALIKE.other):
        result = StudentResult(student=student, challenge="c", file="")
        spelt.append(cells(result)[0])
    assert spelt[1].startswith("'=")
    assert list(csv.reader(io.StringIO(text))) == [
        list(COLUMNS),
        ["c-1", "ana", "s00", "1.00", "120", "1.00", "yes", "L3-L9", "L4-L10"],
        ["c-3", *spelt, "0.92", "310", "0.88", "no", "L3-L9 L12-L12", "L20-L31 L40-L44"],
    ]


def test_text() -> None:
    """The hint comes first; a group is one sentence; a pair has the lines of both files."""
    text = similarity_text([("c-1", [*COPIES, ALIKE])])
    joined = " ".join(text.split())
    assert joined.startswith(HINT)
    assert "31 files are the same but for layout and comments: ana, s00, s01, s02," in joined
    assert "s06 and 23 more." in joined
    assert "s07" not in text
    assert "92% of the smaller file's own code, 310 fingerprints" in joined
    assert "    bo\\x1b[31m: lines 3-9, 12\n    =cmd()\\u202e, nnn" in text
    assert "n" * 41 not in text
    assert text.replace("\n", "").isprintable()
    assert max(len(line) for line in text.split("\n")) <= 80


def test_text_of_many_pairs() -> None:
    """After twenty pairs of a challenge the text says how many more there are."""
    pairs = [Pair(f"a{number}", f"b{number}", 0.8, 200, 1.0, (), ()) for number in range(23)]
    text = similarity_text([("c-1", pairs)])
    assert "a19 and b19" in text
    assert "a20" not in text
    assert text.endswith("and 3 more")


def test_text_without_pairs() -> None:
    """If nobody is alike the text says so, and says that this proves nothing."""
    assert "No two submissions are alike" in similarity_text([("c-1", []), ("c-2", [])])
    assert "no proof" in " ".join(similarity_text([]).split())
    assert similarity_csv([]) == ",".join(COLUMNS) + "\n"
