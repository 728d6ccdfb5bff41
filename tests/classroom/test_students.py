"""Tests of finding the student whom a person or a file name means."""

import pytest

from attn_drill.classroom.anonymity import anonymous_ids
from attn_drill.classroom.records import Student
from attn_drill.classroom.roster import (
    StudentIndex,
    by_student,
    folded,
    in_order,
    with_unique_names,
)
from attn_drill.model.errors import DrillError

ANA = Student("Ana Lee", "1001", "alee", "ana.lee@uni.example", row={"SIS User ID": "S1"})
BO = Student("Bo Li", "1002", email="bo@uni.example")
ZOE = Student("Zoë van der Berg", "1003", system_id="77")
TWINS = [Student("Alex Kim (1)", id="1"), Student("Alex Kim (2)", id="2")]
CLASS = [ANA, BO, ZOE, *TWINS]


@pytest.mark.parametrize(
    ("words", "student"),
    [
        *((words, ANA) for words in ("1001", " ALEE ", "ANA.LEE@uni.example", "ana.lee", "S1")),
        *((words, ANA) for words in ("Ana Lee", "Lee, Ana", "Lee Ana", "lee_ana", "analee")),
        *(
            (words, ANA)
            for words in ("hw3_1001", "1001_gqa", "gqa (1001)", "x ana.lee@uni.example")
        ),
        *((words, BO) for words in ("bo", "boli", "Ｂｏ Ｌｉ", "BO@UNI.EXAMPLE")),
        *((words, ZOE) for words in ("van der Berg, Zoe", "zoe\u0308 van der berg", "77")),
        ("Alex Kim (2)", TWINS[1]),
    ],
)
def test_a_student_may_be_named_in_several_ways(words: str, student: Student) -> None:
    """An id, a user name, an address or the name in any form is enough."""
    assert StudentIndex(CLASS).find(words) is student


@pytest.mark.parametrize(
    "words", ["Ana", "lee", "100", "gqa_1", "", "--", "uni.example", "x@uni.example"]
)
def test_other_words_fit_nobody(words: str) -> None:
    """A part of a name is not enough."""
    assert StudentIndex(CLASS).find_all(words) == []


def test_a_marker_names_a_student_by_the_anonymous_id() -> None:
    """Without the secret, nobody has one."""
    marked = anonymous_ids([BO.name], "salt")[BO.name]
    assert StudentIndex(CLASS, "salt").find(marked.upper()) is BO
    assert StudentIndex(CLASS).find_all(marked) == []


def test_an_exact_name_counts_first() -> None:
    """An id may look like the name of somebody else."""
    other = Student("1001", id="99")
    assert StudentIndex([*CLASS, other]).find("1001") is other


def test_unclear_words_give_an_error_with_the_next_step() -> None:
    """The sentence has the ids, or the nearest names."""
    same = [Student("Sam", "5", email="s@a.example"), Student("Sue", "6", login="s@a.example")]
    for students, words, message in (
        (same, "s@a.example", r"fits 2 students: Sam \(5\), Sue \(6\)\. Name the student by id"),
        (CLASS, "Kim, Alex", r"fits 2 students: Alex Kim \(1\), Alex Kim \(2\)"),
        (CLASS, "Ana Leo", r"is called 'Ana Leo'\. Did you mean 'Ana Lee'"),
        (CLASS, "zzzzzz", r"grades\.csv has all names"),
    ):
        with pytest.raises(DrillError, match=message):
            StudentIndex(students).find(words)
    with pytest.raises(DrillError, match=r"times\.csv: 's@a\.example' fits 2 students: Sam"):
        by_student([("s@a.example", 1)], same, "times.csv")


def test_table_of_a_person_is_read_by_the_names_of_the_students() -> None:
    """A line that stands twice does no harm."""
    table = [("alee", 1), ("Lee, Ana", 1), ("Bo", 2), ("Cy", 3)]
    assert by_student(table, CLASS, "t.csv") == ({"Ana Lee": 1, "Bo Li": 2}, ["Cy"])
    with pytest.raises(DrillError, match=r"t\.csv has two different values for Ana Lee\. Remove"):
        by_student([*table, ("1001", 2)], CLASS, "t.csv")


def test_same_names_become_distinct() -> None:
    """Ids distinguish them, otherwise addresses."""
    students = [Student("Ana Lee", "1"), Student("ana  lee", email="a@x"), Student("Bo")]
    names = [student.name for student in with_unique_names(students)]
    assert names == ["Ana Lee (1)", "ana  lee (a@x)", "Bo"]


@pytest.mark.parametrize(
    ("function", "name", "form"),
    [
        (folded, "O'Neil-Smith, Jo.", "oneilsmithjo"),
        (folded, "Ame\u0301lie", "amelie"),
        (folded, "Øystein Łuk", "oysteinluk"),
        (folded, "Straße", "strasse"),
        (folded, "王 小明", "王小明"),
        (folded, "--", ""),
        (in_order, "van der Berg,Zoë  Maria", "Zoë Maria van der Berg"),
        (in_order, " Ana   Lee ", "Ana Lee"),
        (in_order, "Sammy Davis, Jr.", "Sammy Davis, Jr."),
        (in_order, "Lee,", "Lee,"),
        (in_order, "a, b, c", "a, b, c"),
    ],
)
def test_forms_of_a_name(function, name: str, form: str) -> None:  # type: ignore[no-untyped-def]
    """Capitals, accents, blanks and punctuation make no difference, except in ids."""
    assert function(name) == form
