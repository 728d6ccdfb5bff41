"""Tests of finding the lines of keys in a TOML file."""

import tomllib

import pytest

from trainer.packs.toml_lines import KeyPath, Span, line_of, spans

TEXT = '''\
title = """a
[[challenge]]
b"" """"   # the text ends with a quotation mark
[[challenge]]
id = "a # [[no]]"   # [[no]]
weights = { values = 5, "train/eval" = [1,
  2, {a.b = 3}] }
x.y.z = 2026-12-01 23:59:00.5

[[ challenge ]]
'id' = 'b\\'
[challenge.weights]
values = 3
[[challenge.part]]
[[challenge.part]]
name = "second"
[extensions]
"a@\\u0041" = 2
1.5 = 2'''


@pytest.mark.parametrize(
    ("path", "first", "last"),
    [
        pytest.param(("title",), 1, 3, id="text of several lines"),
        pytest.param(("challenge",), 4, 4, id="the first of several tables"),
        pytest.param(("challenge", 0), 4, 8, id="a table with its keys"),
        pytest.param(("challenge", 0, "id"), 5, 5, id="text with a hash sign"),
        pytest.param(("challenge", 0, "weights"), 6, 7, id="an inline table"),
        pytest.param(("challenge", 0, "weights", "values"), 6, 6, id="a key of an inline table"),
        pytest.param(("challenge", 0, "weights", "train/eval", 1), 7, 7, id="an element"),
        pytest.param(("challenge", 0, "weights", "train/eval", 2, "a", "b"), 7, 7, id="nested"),
        pytest.param(("challenge", 0, "x"), 8, 8, id="the first part of a dotted key"),
        pytest.param(("challenge", 0, "x", "y", "z"), 8, 8, id="a dotted key"),
        pytest.param(("challenge", 1), 10, 11, id="a header with blanks"),
        pytest.param(("challenge", 1, "id"), 11, 11, id="a key in quotes"),
        pytest.param(("challenge", 1, "weights", "values"), 13, 13, id="a table in a list"),
        pytest.param(("challenge", 1, "part", 0), 14, 14, id="an empty table"),
        pytest.param(("challenge", 1, "part", 1, "name"), 16, 16, id="a list in a list"),
        pytest.param(("extensions", "a@A"), 18, 18, id="an escape in a key"),
        pytest.param(("extensions", "1", "5"), 19, 19, id="a key that looks like a number"),
    ],
)
def test_each_key_has_its_lines(path: KeyPath, first: int, last: int) -> None:
    """Also with the line ends of Windows."""
    tomllib.loads(TEXT)
    assert spans(TEXT)[path] == Span(first, last)
    assert spans(TEXT.replace("\n", "\r\n"))[path] == Span(first, last)


def test_missing_key_has_the_line_of_its_table() -> None:
    """Without any table around it, there is no line."""
    assert line_of(TEXT, ("challenge", 1, "worth")) == 10
    assert line_of(TEXT, ("challenge", 0, "weights", "masks")) == 6
    assert line_of(TEXT, ("due",)) is None


@pytest.mark.parametrize(
    "text",
    ["", "[", "]", "=", "a = [}", "a={,]", '"', "[[", "a = ]\n}", "[a\n", "}", "a = [" * 9000],
)
def test_text_that_is_not_toml_ends_the_search(text: str) -> None:
    """The lines may be wrong, but nothing is raised."""
    spans(text)
