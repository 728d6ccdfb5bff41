"""Tests of hiding the names of students in texts."""

import pytest

from trainer.classroom.hidden_names import HiddenNames
from trainer.classroom.records import Student

NAMES = HiddenNames(
    [
        Student("Ana Lee", "S0101", "alee", "ana.l@uni.example"),
        Student("May Long (1024)", "1024", email="may@uni.example"),
        Student("Jürgen Özil", "2024001", system_id="777123"),
        Student("mononym"),
    ]
)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        pytest.param("Ana's LEE_proj: x", "…'s …: x", id="each word of the author"),
        pytest.param("self.analysis = 1", "self.analysis = 1", id="a short name inside a word"),
        pytest.param("with May Long, LONG, MAY", "with …, …", id="whole names of others"),
        pytest.param("it may take long", "it may take long", id="words of others"),
        pytest.param("may_long = maylong", "… = …", id="others in identifiers"),
        pytest.param("may\n\n\n    long", "may\n\n\n    long", id="words that are far apart"),
        pytest.param("jürgen özil 2024001 777123", "… … …", id="ids"),
        pytest.param("1024 of 2048 values", "1024 of 2048 values", id="a short number"),
        pytest.param("alee@x, S0101, may@uni.example", "…@x, …, …", id="addresses"),
        pytest.param("Özil", "Özil", id="one word of another name"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_names_are_hidden(text: str, hidden: str) -> None:
    """Everything that is not a name stays."""
    assert NAMES.hide(text, "Ana Lee") == hidden


def test_author_outside_the_class_is_hidden() -> None:
    """A file can belong to nobody of the roster."""
    assert NAMES.hide("print(1)  # Bob Ray", "Bob Ray") == "print(1)  # … …"


def test_words_of_a_student_come_from_everything_that_is_known() -> None:
    """They also hide identifiers in excerpts."""
    assert {"ana", "lee", "alee", "s0101"} <= NAMES.words_of("Ana Lee")


def test_word_that_others_write_is_ordinary() -> None:
    """If it were hidden only in one report, the report would show whose it is."""
    students = [Student("Max Long"), Student("Ana Lee"), Student("Bo Li"), Student("Cy Moe")]
    texts = [("Ana Lee", "x.amax(-1), thanks to Cy"), ("Bo Li", "x.amax(-1)"), ("Max Long", "Max")]
    names = HiddenNames([*students, Student("Amax Roe")], texts)
    assert names.hide("x.amax(-1)  # by Roe", "Amax Roe") == "x.amax(-1)  # by …"
    assert names.hide("x.max().long()  # Max Long", "Max Long") == "x.max().long()  # …"
    assert names.hide("cy = 1", "Cy Moe") == "… = 1"


@pytest.mark.parametrize("name", ["May Mask", "Key Value", "Justin Case", "Max Print"])
def test_words_of_the_report_are_ordinary(name: str) -> None:
    """The marker reads the same report for everybody."""
    text = "values  masks: mask, case 3 of 16: key, 1 value, max, 2 print(1)"
    assert HiddenNames([Student(name)]).hide(text, name) == text
