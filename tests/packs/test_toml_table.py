"""Tests of reading the keys of a TOML file that a person wrote."""

import os
import tomllib
from datetime import date
from pathlib import Path

import pytest

from trainer.model.errors import DrillError
from trainer.packs.toml_table import (
    TomlFile,
    TomlTable,
    as_toml,
    listed,
    read_toml_file,
    shown,
    suggested,
)


def table(text: str) -> TomlTable:
    """Return the keys of a text."""
    return TomlFile(Path("a.toml"), text).table()


@pytest.mark.parametrize(
    "text",
    [
        "",
        'quotes " and \\ and \\" and \'',
        "lines\r\nand\ttabs",
        "".join(map(chr, range(0x120))),
        "Łukasz 李 Émile e\u0301",
        "\u2028\u202e\ufeff\U000e0001",
        "emoji 🙂",
    ],
)
def test_text_survives_toml(text: str) -> None:
    """The written text is on one line and holds no control character."""
    written = as_toml(text)
    assert tomllib.loads(f"key = {written}") == {"key": text}
    assert written.isprintable()


def test_half_of_a_surrogate_pair_becomes_a_replacement_character() -> None:
    """TOML cannot represent it. It comes from a file name that is not UTF-8."""
    written = as_toml("Ren\udce9")
    assert tomllib.loads(f"key = {written}".encode().decode()) == {"key": "Ren\ufffd"}


@pytest.mark.parametrize("value", [0, 85.0, 33.3, 1e-7, 1e300, -2, True])
def test_number_survives_toml(value: float) -> None:
    """A whole number has no decimal point."""
    assert tomllib.loads(f"key = {as_toml(value)}") == {"key": value}
    assert as_toml(85.0) == "85"


def test_values_are_shown_in_the_words_of_toml() -> None:
    """Long text is shortened."""
    assert shown("a") == '"a", which is text in quotes'
    assert shown(True) == "true"
    assert shown(date(2026, 12, 1)) == "2026-12-01, which is a day"
    assert shown({}) == "a table"
    assert shown([1]) == "a list"
    assert shown([{}]) == "a list of tables"
    assert len(shown("x" * 1000)) < 100
    assert listed(["values", "masks", "work"]) == "values, masks and work"
    assert listed(["values"]) == "values"


@pytest.mark.parametrize(
    ("text", "method", "message"),
    [
        pytest.param("k = 3", "text", 'is 3; it must be text in quotes. Write k = "3"', id="text"),
        pytest.param("k = true", "text", 'Write k = "true"', id="a truth value as text"),
        pytest.param("k = [1]", "text", "is a list; it must be text in quotes.", id="a list"),
        pytest.param('k = " 2,5 "', "number", "it must be a number. Write k = 2.5", id="a number"),
        pytest.param('k = "10 %"', "number", "Write k = 10", id="per cent"),
        pytest.param('k = "two"', "number", "it must be a number.", id="a word for a number"),
        pytest.param("k = true", "number", "is true; it must be a number.", id="truth as number"),
        pytest.param("k = 2.5", "whole_number", "a whole number. Write k = 2", id="a fraction"),
        pytest.param("k = inf", "whole_number", "is inf; it must be a whole", id="infinite"),
        pytest.param('k = "yes"', "truth", "true or false. Write k = true", id="yes"),
        pytest.param("k = 0", "truth", "is 0; it must be true or false. Write k = false", id="0"),
        pytest.param("[k]", "tables", "is a table; it must be a list of tables [[k]]", id="[k]"),
        pytest.param("k = [1]", "tables", "a list that holds 1; it must be a list of", id="[1]"),
    ],
)
def test_wrong_type_is_refused(text: str, method: str, message: str) -> None:
    """The error names the line and the likely value."""
    with pytest.raises(DrillError) as caught:
        list(getattr(table(f"\n{text}"), method)("k"))
    assert str(caught.value).startswith("a.toml, line 2: `k` is")
    assert message in str(caught.value)


def test_huge_numbers_are_numbers() -> None:
    """The caller refuses an infinite number, if it is wrong."""
    digits = "9" * 400
    keys = table(f"a = {digits}\nb = -{digits}\nc = 0x{'f' * 9000}")
    assert [keys.number(key) for key in "abc"] == [float("inf"), float("-inf"), float("inf")]
    with pytest.raises(DrillError, match="it must be text in quotes"):
        keys.text("c")


def test_unknown_key_is_refused() -> None:
    """The error names the most similar key, otherwise all keys."""
    known = ("title", "students_see")
    with pytest.raises(DrillError, match=r'line 1: The key `studentssee` .*"students_see"\?'):
        table("studentssee = 3").refuse_unknown(known)
    with pytest.raises(DrillError, match="The keys are title, students_see"):
        table("zzz = 3").refuse_unknown(known)
    with pytest.raises(DrillError, match=r'The key `"a b"` is unknown here. Move it'):
        table('"a b" = 3').refuse_unknown(known, {"a b": "Move it."})
    assert suggested("Bad_Size", ["bad sizes"], "checks") == 'Did you mean "bad sizes"?'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nwhy = True", r"Invalid value \(at line 2, .*small letters"),
        ("due = 2026-12-01 23:59", r"\(at line 1, .*a time needs seconds"),
        ("a@b = 2", r"\(at line 1, .*in quotes: \"ana@"),
        ("[c]\n[c]", r"\(at line 2, .*two brackets"),
        ("a = " + "[" * 5000, "recursion"),
        ("a = " + "9" * 5000, "digits"),
    ],
)
def test_text_that_is_not_toml_is_refused(text: str, message: str) -> None:
    """The error has tomllib's line and the next step."""
    with pytest.raises(DrillError, match=f"a.toml is not valid TOML: .*{message}"):
        table(text)


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    """A byte order mark is no error. A pipe is not opened."""
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_toml_file(path).table().number("a") == 1
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(DrillError, match=r"a\.toml is not valid TOML: byte 0xff at offset 5"):
        read_toml_file(path)
    with pytest.raises(DrillError, match="not a regular file"):
        read_toml_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DrillError, match="not a regular file"):
        read_toml_file(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        read_toml_file(tmp_path / "b.toml")
