"""Tests of the list of everything that a person should look at."""

from dataclasses import replace

from tests.support.class_results import (
    assignment,
    grade_of,
    make_gradebook,
    result,
    student_grade,
    ungraded,
)
from trainer.classroom.records import Gradebook, Lateness, Override, Student
from trainer.export.to_look_at import (
    NO_ROSTER,
    NOBODY_MISSING,
    Noted,
    missing_words,
    to_look_at,
)

ONE = assignment()
TWO = assignment(("first", "second"))


def notes(gradebook: Gradebook) -> dict[str, tuple[Noted, ...]]:
    """Return the notes by heading."""
    return {look.heading: look.notes for look in to_look_at(gradebook)}


def test_each_reason_has_its_heading() -> None:
    """A row of each kind is listed once, under its own heading."""
    unreadable = grade_of(result("Di", verdict="error"), error="di.py is empty.")
    decided = Override("Ed", "first", 85.0, "Well told.")
    nobody = Student("flo", is_in_roster=False)
    late = Lateness(is_late=True, days=None, is_extended=True)
    rows = (
        student_grade(Student("Ann"), [], ONE),
        student_grade(
            Student("Bo", notes=("Bo fits two students.",)), [grade_of(result("Bo"))], ONE
        ),
        student_grade(Student("bob"), [grade_of(ungraded())], ONE),
        student_grade(Student("Cy"), [grade_of(result("Cy", verdict=None, error="no room"))], ONE),
        student_grade(Student("Di"), [unreadable], ONE),
        student_grade(Student("Ed"), [grade_of(result("Ed"), override=decided)], ONE),
        student_grade(nobody, [grade_of(result("flo", file="flo.py"))], ONE),
        student_grade(Student("Gus"), [grade_of(result("Gus"), lateness=late)], ONE),
        student_grade(Student("Hal"), [grade_of(result("Hal"))], ONE, look=("looks odd",)),
        student_grade(Student("Ida"), [grade_of(result("Ida"))], ONE),
    )
    found = notes(Gradebook(ONE, rows, ("old/: a folder",), has_roster=True))
    assert found == {
        "Names that clash": (Noted("Bo", "", "Bo fits two students."),),
        "Not graded": (Noted("bob", "first", ungraded().error or ""),),
        "The grader failed": (Noted("Cy", "first", "no room"),),
        "Nothing for a challenge": (Noted("Di", "first", "di.py is empty."),),
        "Files that belong to nobody": (Noted("flo", "", "flo.py"),),
        "Handed in nothing": (Noted("Ann"),),
        "Late, but the time is unknown": (Noted("Gus", "first", "the student has an extension"),),
        "Overrides": (Noted("Ed", "", "first, 85 points. Well told."),),
        "Other files": (Noted("", "", "old/: a folder"),),
        "Other reasons": (Noted("Hal", "", "looks odd"),),
    }


def test_unknown_times_are_listed() -> None:
    """If no submission has a time, a single note says so."""
    unknown, known = Lateness(due=1e9), Lateness(due=1e9, submitted=1e9)
    rows = [
        student_grade(Student(name), [grade_of(result(name), lateness=lateness)], ONE)
        for name, lateness in (("Ann", known), ("Ben", unknown))
    ]
    assert notes(Gradebook(ONE, (*rows,))) == {"Time unknown": (Noted("Ben", "first"),)}
    assert notes(Gradebook(ONE, (rows[1],))) == {
        "Time unknown": (Noted("", "", "No submission of the class has a time."),)
    }
    assert not notes(Gradebook(ONE, (rows[0],)))


def test_other_files_with_an_answer_are_listed() -> None:
    """The graded file may be the unchanged stub."""
    grade = grade_of(result("Ann"), alternatives=("a.py", "b.py"))
    book = Gradebook(ONE, (student_grade(Student("Ann"), [grade], ONE),))
    assert notes(book) == {"Other files with an answer": (Noted("Ann", "first", "a.py, b.py"),)}


def test_missing_module_is_listed() -> None:
    """The package may be missing only here, so 0 points may be wrong."""
    words = "ModuleNotFoundError: No module named 'einops.layers' at line 3"
    book = make_gradebook([result("Ann", verdict="error", load_words=words)], ONE)
    heading = "Imports of modules that do not exist here"
    assert notes(book) == {heading: (Noted("Ann", "first", "einops.layers"),)}


def test_nobody_is_missing_only_if_a_roster_says_so() -> None:
    """Without a roster, the sentence names the next step."""
    complete = make_gradebook([result("Ann")], ONE)
    assert missing_words(complete) == NO_ROSTER
    assert missing_words(replace(complete, has_roster=True)) == NOBODY_MISSING
    absent = student_grade(Student("Ben"), [], ONE)
    book = Gradebook(ONE, (*complete.rows, absent), has_roster=True)
    assert missing_words(book) == ""
    assert "Handed in nothing" in notes(book)
    assert "Handed in nothing" not in notes(replace(book, has_roster=False))
    assert missing_words(Gradebook(ONE, (), has_roster=True)) == ""


def test_missing_challenge_is_listed() -> None:
    """A student who has a result for another challenge is not complete."""
    book = make_gradebook([result("Ann", "second")], TWO, has_roster=True)
    assert notes(book) == {"No submission for a challenge": (Noted("Ann", "", "first"),)}
    assert missing_words(book) == ""


def test_class_without_reasons_has_no_notes() -> None:
    """A late submission with a known time is no reason to look."""
    late = grade_of(result("Ann"), lateness=Lateness(True, 2e9, 1e9, days=3, penalty=30.0))
    assert not notes(Gradebook(ONE, (student_grade(Student("Ann"), [late], ONE),)))
