"""Tests of similar submissions as CSV and as text."""

from __future__ import annotations

import csv
import io

from trainer.classroom.records import StudentResult
from trainer.classroom.similarity import Pair
from trainer.export.grade_tables import cells
from trainer.export.similar_pairs import COLUMNS, HINT, similarity_csv, similarity_text

COPIES = [
    Pair("ana", f"s{index:02}", 1.0, 120, 1.0, ((3, 9),), ((4, 10),), same=True)
    for index in range(30)
]
SIMILAR = Pair(
    "bo\x1b[31m",
    "=cmd()\u202e, " + "n" * 60,
    0.923,
    310,
    0.875,
    ((3, 9), (12, 12)),
    ((20, 31), (40, 44)),
)


def test_csv_has_one_row_for_each_pair() -> None:
    """Names are written as in grades.csv. No spreadsheet reads the lines as a date."""
    text = similarity_csv([("c-1", COPIES[:1]), ("c-2", []), ("c-3", [SIMILAR])])
    names = []
    for student in (SIMILAR.student, SIMILAR.other):
        result = StudentResult(student=student, challenge="c", file="")
        names.append(cells(result)[0])
    assert names[1].startswith("'=")
    assert list(csv.reader(io.StringIO(text))) == [
        list(COLUMNS),
        ["c-1", "ana", "s00", "1.00", "120", "1.00", "yes", "L3-L9", "L4-L10"],
        ["c-3", *names, "0.92", "310", "0.88", "no", "L3-L9 L12-L12", "L20-L31 L40-L44"],
    ]


def test_text_has_the_hint_then_groups_and_pairs() -> None:
    """A group is one sentence. A pair has the lines of both files."""
    text = similarity_text([("c-1", [*COPIES, SIMILAR])])
    joined = " ".join(text.split())
    assert joined.startswith(HINT)
    assert "31 files differ only in layout and comments: ana, s00, s01, s02," in joined
    assert "s06 and 23 more." in joined
    assert "s07" not in text
    assert "92% of the smaller file's own code, 310 fingerprints" in joined
    assert "    bo\\x1b[31m: lines 3-9, 12\n    =cmd()\\u202e, nnn" in text
    assert "n" * 41 not in text
    assert text.replace("\n", "").isprintable()
    assert max(len(line) for line in text.split("\n")) <= 80


def test_text_shows_twenty_pairs_of_a_challenge() -> None:
    """After twenty pairs, the text has the number of the other pairs."""
    pairs = [Pair(f"a{index}", f"b{index}", 0.8, 200, 1.0, (), ()) for index in range(23)]
    text = similarity_text([("c-1", pairs)])
    assert "a19 and b19" in text
    assert "a20" not in text
    assert text.endswith("and 3 more")


def test_text_without_pairs() -> None:
    """The text explains that the absence of pairs is not a proof."""
    assert "No two submissions are more similar" in similarity_text([("c-1", []), ("c-2", [])])
    assert "This is not a proof" in " ".join(similarity_text([]).split())
    assert similarity_csv([]) == ",".join(COLUMNS) + "\n"
