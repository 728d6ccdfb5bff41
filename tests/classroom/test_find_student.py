"""Tests of finding the student that a person names."""

import pytest

from trainer.classroom.anonymous import anonymous_ids
from trainer.classroom.find_student import key_of, student_called
from trainer.classroom.records import Student
from trainer.model.errors import DrillError

ANA = Student("Ana Lee", id="12", login="alee", email="ana.lee@uni.example")
BO = Student("Bo Li", id="13")
TWINS = [Student("Alex Kim (1)", id="1"), Student("Alex Kim (2)", id="2")]
CLASS = [ANA, BO, *TWINS]


@pytest.mark.parametrize(
    "words",
    ["Ana Lee", "ana lee", "Lee, Ana", "12", "alee", "ANA.LEE@uni.example", "ana.lee"],
)
def test_a_person_may_name_a_student_in_several_ways(words: str) -> None:
    """Name, id, user name and e-mail address are enough."""
    assert student_called(words, CLASS, "salt") is ANA


def test_a_marker_names_a_student_by_the_anonymous_id() -> None:
    """Capitals make no difference."""
    marked = anonymous_ids([student.name for student in CLASS], "salt")["Bo Li"]
    assert student_called(marked.upper(), CLASS, "salt") is BO


def test_an_exact_name_counts_first() -> None:
    """An id may look like the name of somebody else."""
    other = Student("12", id="99")
    assert student_called("12", [*CLASS, other]) is other


def test_several_students_give_an_error_with_their_ids() -> None:
    """The id decides."""
    same = [
        Student("Sam", id="5", email="s@a.example"),
        Student("Sue", id="6", login="s@a.example"),
    ]
    with pytest.raises(DrillError, match=r"fits 2 students: Sam \(5\), Sue \(6\)"):
        student_called("s@a.example", same)


def test_common_name_of_two_students_gives_an_error_with_their_ids() -> None:
    """A person does not write the addition that makes the names unique."""
    for words in ("Alex Kim", "Kim, Alex"):
        with pytest.raises(DrillError, match=r"fits 2 students: Alex Kim \(1\), Alex Kim \(2\)"):
            student_called(words, CLASS)


def test_an_unknown_name_gives_an_error_with_the_nearest_names() -> None:
    """Without a near name, the message says where the names are."""
    with pytest.raises(DrillError, match=r"is called 'Ana Leo'\. Did you mean 'Ana Lee'"):
        student_called("Ana Leo", CLASS)
    with pytest.raises(DrillError, match=r"grades\.csv has all names"):
        student_called("zzzzzz", CLASS)


@pytest.mark.parametrize(
    "key", ["S1", "ALEE", "ana@uni.example", "Ana Lee", "lee, ana", "analee", "leeana", "101"]
)
def test_key_finds_its_student(key: str) -> None:
    """A person may write the id, the user name, the address or the name."""
    student = Student("Ana Lee", "S1", "alee", "ana@uni.example", "canvas", "101")
    assert key_of(student, ["Bo", key]) == key


def test_key_of_somebody_else_finds_nobody() -> None:
    """An empty key fits nobody, either."""
    assert key_of(Student("Ana Lee"), ["Ana", "", "Lee"]) is None


def test_id_decides_before_the_name() -> None:
    """The order of the keys does not matter."""
    student = Student("Ana Lee", "S1")
    assert key_of(student, ["Ana Lee", "S1"]) == key_of(student, ["S1", "Ana Lee"]) == "S1"


def test_accents_count_only_if_a_key_has_them() -> None:
    """Two keys that fit equally well are no answer."""
    student = Student("Amélie D")
    assert key_of(student, ["Amelie, D"]) == "Amelie, D"
    assert key_of(student, ["D, Amelie", "D, Amélie"]) == "D, Amélie"
    assert key_of(student, ["DAmelie", "D, Amelie"]) is None
