"""Tests of reading CSV files that different programs wrote."""

import codecs
import re
from pathlib import Path

import pytest

from attn_drill.classroom.roster import listed, read_csv
from attn_drill.model.errors import DrillError

STEP = "Name another file."
TEXT = 'id,name\n1,"Lee, Ana"\n\n2,Zoë\n'


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-16-le"),
        TEXT.replace("\n", "\r\n").encode(),
        b'id;name\n1;"Lee, Ana"\n\n2;Zo\xc3\xab\n',
        b"id\tname\n1\tLee, Ana\n\n2\tZo\xc3\xab\n",
    ],
    ids="utf8 mark utf16 utf16-be utf16-without-mark crlf semicolon tab".split(),
)
def test_common_encodings_and_delimiters_are_read(tmp_path: Path, data: bytes) -> None:
    """All of them hold the same table."""
    path = tmp_path / "class.csv"
    path.write_bytes(data)
    table = read_csv(path, STEP)
    assert table.headings == ("id", "name")
    assert [dict(line.cells) for line in table.lines] == [
        {"id": "1", "name": "Lee, Ana"},
        {"id": "2", "name": "Zoë"},
    ]


def test_line_numbers_count_lines_of_the_file(tmp_path: Path) -> None:
    """Empty lines and line ends in cells count, too. The last line of a row counts."""
    path = tmp_path / "class.csv"
    path.write_text('id,name\n\n1,"a\nb"\n2,c\n')
    assert [line.number for line in read_csv(path, STEP).lines] == [4, 5]


def test_short_line_has_empty_cells(tmp_path: Path) -> None:
    """Columns keep their order. Empty cells beyond the last column do not count."""
    path = tmp_path / "class.csv"
    path.write_text("a,b,c\n1\n1,2,3,,\n")
    cells = [list(line.cells.items()) for line in read_csv(path, STEP).lines]
    assert cells == [
        [("a", "1"), ("b", ""), ("c", "")],
        [("a", "1"), ("b", "2"), ("c", "3")],
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "cannot be read: No such file"),
        (b"", "is empty"),
        (b"\xff\xe9\xe9", "no CSV file in UTF-8 or UTF-16"),
        (b"PK\x03\x04\x14\xb5\xff", "no CSV file .* In the spreadsheet, save the table as"),
        (b'id,name\n1,"Ana" Lee\n', "line 2 cannot be read: "),
        (b'id,name\n1,"Ana', "line 2 cannot be read: unexpected end of data"),
        (b"name,email\nLee, Ana,a@x\n", "line 2 has 3 cells, but the first line names 2 columns"),
    ],
)
def test_broken_file_gets_a_sentence(tmp_path: Path, data: bytes | None, words: str) -> None:
    """The sentence names the file."""
    path = tmp_path / "class.csv"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DrillError) as caught:
        read_csv(path, STEP)
    assert re.search(words, str(caught.value))
    assert str(path) in str(caught.value)


def test_cell_is_found_by_the_plain_name_of_its_column(tmp_path: Path) -> None:
    """Capitals, blanks and hyphens make no difference. The first cell that is not empty counts."""
    path = tmp_path / "class.csv"
    path.write_text("E-Mail,Student ID,Login\n,7,a\n")
    table = read_csv(path, STEP)
    assert table.has("mail", "email")
    assert not table.has("id")
    assert table.lines[0].cell("email", "login", "studentid") == "a"
    assert table.lines[0].cell("name") == ""


def test_long_list_of_columns_is_shortened() -> None:
    """A gradebook can have hundreds of columns."""
    assert listed(map(str, range(15))).endswith("“11” and 3 more")
