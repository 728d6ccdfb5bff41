"""Tests of the gradebook: points, penalties, overrides, and the marks that a run changed."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Literal

import msgspec
import pytest

from attn_drill.classroom.gradebook import (
    Entry,
    append_entry,
    changed_marks,
    check_points,
    class_gradebook,
    current_results,
    decided_file,
    grades_of,
    lateness_of,
    marks_of,
    read_overrides,
    score,
    total,
)
from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    Lateness,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)
from attn_drill.classroom.result_store import ClassRecord, Mark, ResultStore
from attn_drill.model.challenge import Mistake
from attn_drill.model.checks import CHECK_ORDER, WEIGHTS, Verdict
from attn_drill.model.errors import DrillError
from attn_drill.model.report import Diagnosis, Outcome, Report
from tests.support.classroom import assignment, class_record, result
from tests.support.paths import ROOT
from tests.support.rows import each_row

DUE, DAY = 1_800_000_000.0, 86_400.0
TWO = Assignment(
    "Week 3",
    (AssignedChallenge("first"), AssignedChallenge("second", worth=3)),
    due=DUE,
    penalty=10,
)
ONE = replace(TWO, challenges=TWO.challenges[:1])
ANA = Student("Ana")


def submission(student: str, challenge: str, **more: object) -> StudentSubmission:
    """Return a submission without its text."""
    return StudentSubmission(student, challenge, f"{student}/{challenge}.py", None, **more)  # type: ignore[arg-type]


def graded(
    scores: dict[str, float | None],
    *overrides: Override,
    assignment: Assignment = TWO,
    student: Student = ANA,
    **more: object,
) -> StudentGrade:
    """Return the only row of a class with one student. A score is None if the grading failed."""
    submissions = [submission("Ana", challenge, **more) for challenge in scores]
    results = [_result(challenge, score) for challenge, score in scores.items()]
    (row,) = rows(results, submissions, overrides, assignment, [student])
    return row


def _result(challenge: str, score: float | None) -> StudentResult:
    if score is None:
        return result("Ana", challenge, None)
    return result("Ana", challenge, "passed" if score == 100 else "failed", score=score)


def rows(
    results: list[StudentResult],
    submissions: list[StudentSubmission],
    overrides: tuple[Override, ...] = (),
    assignment: Assignment = TWO,
    students: list[Student] | None = None,
) -> tuple[StudentGrade, ...]:
    """Return the rows of a class."""
    return grades_of(assignment, students or [ANA], submissions, results, overrides)


def test_the_total_weighs_the_points_by_worth() -> None:
    """(1 x 100 + 3 x 50) / 4 = 62.5."""
    row = graded({"first": 100.0, "second": 50.0})
    assert row.total == 62.5
    assert row.files == ("Ana/first.py", "Ana/second.py")


def test_the_penalty_is_taken_from_each_late_challenge() -> None:
    """Two days cost 20 points of both challenges, and never more points than there are."""
    row = graded({"first": 100.0, "second": 10.0}, submitted=DUE + 2 * DAY)
    assert {name: grade.points for name, grade in row.challenges.items()} == {
        "first": 80.0,
        "second": 0.0,
    }
    assert row.total == 20.0


def test_an_override_of_a_challenge_counts_without_a_penalty() -> None:
    """The total is computed from it: (1 x 90 + 3 x 80) / 4 = 82.5."""
    decided = Override("Ana", "first", 90.0, "an oral exam")
    row = graded({"first": 20.0, "second": 100.0}, decided, submitted=DUE + 2 * DAY)
    assert (row.challenges["first"].score, row.challenges["first"].points) == (20.0, 90.0)
    assert row.total == 82.5
    assert row.challenges["first"].lateness.penalty == 0.0


def test_an_override_of_the_total_leaves_the_challenges_unchanged() -> None:
    """The table shows both, so the decision can be understood."""
    row = graded({"first": 20.0, "second": 0.0}, Override("Ana", "", 55.5))
    assert [grade.points for grade in row.challenges.values()] == [20.0, 0.0]
    assert row.total == 55.5


def test_the_last_override_counts() -> None:
    """A person may decide again."""
    decisions = Override("Ana", "first", 1.0), Override("Ana", "first", 2.0)
    assert graded({"first": 0.0, "second": 0.0}, *decisions).challenges["first"].points == 2.0


def test_an_override_counts_for_a_student_who_handed_in_nothing() -> None:
    """The student may have shown the work in another way."""
    row = graded({}, Override("Ana", "first", 60.0), assignment=ONE)
    assert row.total == 60.0


def test_a_challenge_that_was_not_graded_leaves_the_total_open() -> None:
    """No student may lose points for a fault of the grader."""
    row = graded({"first": 100.0, "second": None})
    assert row.total is None
    decided = graded({"first": 100.0, "second": None}, Override("Ana", "second", 60.0))
    assert decided.total == 70.0


def test_a_student_without_files_has_an_empty_row() -> None:
    """The rows have the order of the students."""
    students = [ANA, Student("Bo", is_in_roster=True)]
    found = rows([_result("first", 100.0)], [submission("Ana", "first")], (), ONE, students)
    assert [row.student.name for row in found] == ["Ana", "Bo"]
    empty = found[1]
    assert (empty.total, dict(empty.challenges)) == (None, {})


@pytest.mark.parametrize(("ungraded", "points"), [("empty", None), ("zero", 0.0)])
def test_submission_that_a_person_must_settle_has_no_points(
    ungraded: Literal["empty", "zero"], points: float | None
) -> None:
    """Its cell and the total stay empty, unless the assignment asks for zeros."""
    unreadable = result("Ana", "first", None, error="gqa.pdf is no Python file.", is_ungraded=True)
    (row,) = rows(
        [unreadable], [submission("Ana", "first")], (), replace(ONE, ungraded=ungraded), [ANA]
    )
    grade = row.challenges["first"]
    assert (grade.points, row.total, grade.result) == (points, points, unreadable)


PLAIN = Assignment("Week 3", (AssignedChallenge("first"),))


def record(assignment: Assignment = PLAIN, *names: str) -> ClassRecord:
    """Return the record of a class whose students handed in an hour after `DUE`."""
    return class_record(assignment, *names or ("Zoe", "Ana"), submitted=DUE + 3600)


def store_with(tmp_path: Path, *names: str) -> ResultStore:
    """Return a store in which these students failed the check `masks`."""
    store = ResultStore(tmp_path, ["first"])
    for name in names:
        store.write(result(name, verdict="failed", failed=("masks",), score=1.0))
    return store


def test_results_have_the_order_and_the_ids_of_the_students(tmp_path: Path) -> None:
    """A result of another file does not count: its digest is another."""
    store = store_with(tmp_path, "Ana", "Zoe", "Bo")
    store.write(replace(result("Bo"), task="an older digest"))
    results = current_results(store, record(PLAIN, "Zoe", "Ana", "Bo"))
    assert [(each.student, each.id) for each in results] == [("Zoe", "id-Zoe"), ("Ana", "id-Ana")]


def test_weights_and_due_times_change_the_points_without_a_new_grading(tmp_path: Path) -> None:
    """The files on the disk get the new points, because a program may read them."""
    store = store_with(tmp_path, "Ana")
    (first,) = current_results(store, record(PLAIN, "Ana"))
    heavy = (AssignedChallenge("first", {"masks": 30.0}),)
    (second,) = current_results(store, record(replace(PLAIN, challenges=heavy, due=DUE), "Ana"))
    assert first.score is not None
    assert second.score is not None
    assert second.score < first.score
    assert (first.late, second.late) == (False, True)
    assert store.read(record(PLAIN, "Ana").jobs[0]) == second


def test_marks_have_everything_that_decides_them(tmp_path: Path) -> None:
    """The total is the mark without a challenge."""
    store = store_with(tmp_path, "Ana")
    class_ = record(replace(PLAIN, due=DUE, penalty=10.0), "Ana")
    (result,) = current_results(store, class_)
    marks = marks_of(class_gradebook(class_, [result], ()), class_)["Ana"]
    mark = marks["first"]
    assert mark.points == marks[""].points == round((result.score or 0) - 10, 1)
    assert (mark.override, mark.text) == (None, class_.jobs[0].text)
    nobody = msgspec.structs.replace(class_, jobs=[])
    assert marks_of(class_gradebook(nobody, (), ()), nobody)["Ana"][""].points is None


OLD = Mark(50.0, text="text")


def marked(mark: Mark | None, total: float = 50.0, **changes: object) -> ClassRecord:
    """Return the record of a class with one student and one mark."""
    marks = {} if mark is None else {"Ana": {"": Mark(total), "first": mark}}
    return msgspec.structs.replace(class_record(PLAIN, "Ana"), marks=marks, **changes)


HEAVY = {"assignment": replace(PLAIN, challenges=(AssignedChallenge("first", {"masks": 1.0}),))}


@pytest.mark.parametrize(
    ("before", "after", "settings", "reason"),
    [
        (OLD, Mark(85.0, 85.0, "new"), {}, "override"),
        (Mark(85.0, 85.0, "text"), OLD, {}, "override taken back"),
        (OLD, Mark(90.0, text="new"), {}, "new file"),
        (OLD, Mark(None), {}, "no file any more"),
        (Mark(None, text="text"), OLD, HEAVY, "graded now"),
        (OLD, Mark(90.0, text="text"), HEAVY, "changed: challenges"),
        (
            OLD,
            Mark(90.0, text="text"),
            HEAVY | {"version": "1"},
            "changed: challenges, attn-drill 1 in place of 0",
        ),
        (OLD, Mark(40.0, text="text"), {}, "changed: the times or the challenge"),
    ],
)
def test_changed_mark_has_a_reason(
    before: Mark, after: Mark, settings: dict[str, object], reason: str
) -> None:
    """The change of the total needs no reason of its own."""
    assert changed_marks(marked(before), marked(after, total=70.0, **settings)) == [
        ("Ana", "first", before.points, after.points, reason)
    ]


def test_total_is_listed_if_no_challenge_explains_it() -> None:
    """A student who is not in the class any more has no mark."""
    assert changed_marks(marked(OLD), marked(OLD)) == []
    (change,) = changed_marks(marked(OLD), marked(OLD, total=40.0))
    assert (change.challenge, change.before, change.after) == ("", 50.0, 40.0)
    (change,) = changed_marks(marked(OLD), marked(None))
    assert (change.after, change.reason) == (None, "not in the class any more")


HOUR = 3600.0


def penalised(**more: object) -> Assignment:
    """Return an assignment with a due time and a penalty of 10 points a day."""
    settings: dict[str, object] = {"due": DUE, "penalty": 10.0} | more
    return Assignment("Week 3", (AssignedChallenge("gqa"),), **settings)  # type: ignore[arg-type]


def lateness(after: float | None, is_marked_late: bool = False, **more: object) -> Lateness:
    """Return the lateness of Ana's submission, which came this many seconds after the due time."""
    submitted = None if after is None else DUE + after
    submission = StudentSubmission(
        "Ana Lee", "gqa", "ana.py", "", submitted=submitted, is_marked_late=is_marked_late
    )
    return lateness_of(submission, penalised(**more))


def test_times_are_shown_in_the_zone_of_the_assignment() -> None:
    """A student reads the time that the teacher wrote."""
    assert lateness(0.0, utc_offset=3600.0).utc_offset == 3600.0


@each_row(
    "after, days, penalty",
    {
        "early": (-1, 0, 0),
        "at the due time": (0, 0, 0),
        "a second late": (1, 1, 10),
        "exactly a day late": (DAY, 1, 10),
        "the second day has begun": (DAY + 1, 2, 20),
        "the penalty takes all points at most": (30 * DAY, 30, 100),
    },
)
def test_each_started_day_costs_the_penalty(after: float, days: int, penalty: float) -> None:
    """The days count from the due time."""
    found = lateness(after)
    assert (found.is_late, found.days, found.penalty) == (days > 0, days, penalty)
    assert (found.due, found.submitted) == (DUE, DUE + after)


def test_a_submission_within_the_grace_period_is_not_late() -> None:
    """After the grace period the days count from the due time, not from the end of the grace."""
    assert not lateness(900, grace=900.0).is_late
    assert lateness(DAY + 901, grace=900.0).days == 2


def test_an_extension_moves_the_due_time_of_its_student() -> None:
    """The days late count from the new due time."""
    later = lateness(2 * DAY, extensions={"Ana Lee": DUE + 3 * DAY})
    assert (later.is_late, later.is_extended, later.due) == (False, True, DUE + 3 * DAY)
    days = lateness(2 * DAY, extensions={"Ana Lee": DUE + DAY})
    assert (days.is_late, days.is_extended, days.days) == (True, True, 1)
    assert lateness(1, extensions={"Bo Li": DUE + 3 * DAY}).is_late


def test_a_mark_without_a_time_makes_late_without_a_penalty() -> None:
    """The number of days is unknown, so a person must decide."""
    found = lateness(None, is_marked_late=True)
    assert (found.is_late, found.days, found.penalty) == (True, None, 0)
    assert lateness(5, is_marked_late=True, due=None).is_late


def test_a_known_time_counts_more_than_a_mark() -> None:
    """The due time of the assignment may be later than the due time in the system."""
    assert not lateness(-1, is_marked_late=True).is_late


def test_a_submission_without_a_time_and_a_mark_is_not_late() -> None:
    """An unknown time harms nobody."""
    assert lateness(None) == Lateness(due=DUE)


BY_HAND = """\
# Appeals of week 3

# Ana came on Monday.
[[override]]
student = "Ana Lee"   # id 12345
points = 85
comment = '''
Two lines,
# and no comment'''

[[ override ]]
student = "Bob"
challenge = "gqa"
points = 33.5
"""
BOTH = class_record(assignment(("gqa", "mha")), "Ana Lee", "Bob", "Cleo")


def read(path: Path, record: ClassRecord = BOTH) -> list[Override]:
    """Return the decisions that count."""
    return read_overrides(path.parent, record)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file that a person wrote."""
    file = tmp_path / "overrides.toml"
    file.write_text(BY_HAND)
    return file


def test_every_key_is_read(path: Path) -> None:
    """A missing file and an empty file hold no overrides."""
    ana = Override("Ana Lee", "", 85.0, "Two lines,\n# and no comment")
    assert read(path) == [ana, Override("Bob", "gqa", 33.5)]
    path.write_text("")
    assert read(path) == read(path.parent / "other" / path.name) == []


def test_last_entry_counts_and_what_a_person_wrote_stays(path: Path) -> None:
    """An entry may name the student by id."""
    append_entry(path, Entry("id-Ana Lee", 90.0, "", "Right.", "digest"))
    append_entry(path, Entry("Bob", 0.0, "gqa"))
    assert path.read_text().startswith(BY_HAND)
    assert path.read_text().endswith(
        '\n[[override]]\nstudent = "Bob"\npoints = 0\nchallenge = "gqa"\n'
    )
    assert read(path) == [
        Override("Ana Lee", "", 90.0, "Right.", is_outdated=True),
        Override("Bob", "gqa", 0.0),
    ]


def test_total_of_one_challenge_is_its_points(path: Path) -> None:
    """An entry with the challenge and an entry without it are about the same mark."""
    append_entry(path, Entry("Bob", 1.0))
    only = class_record(assignment(("gqa",)), "Ana Lee", "Bob")
    assert read(path, only)[1:] == [Override("Bob", "gqa", 1.0)]


def test_decision_for_another_file_says_so(path: Path) -> None:
    """A digest in the file tells for which text the points were decided."""
    path.write_text("")
    append_entry(path, Entry("Bob", 77.0, "gqa", file=decided_file(BOTH, "Bob", "gqa")))
    append_entry(path, Entry("Bob", 77.0, "mha", file="old"))
    assert [own.is_outdated for own in read(path)] == [False, True]


@pytest.mark.parametrize(
    "words",
    ['O\'Neil "Bo"', "a\\b", "".join(map(chr, range(1, 0xA0))), "李 Łukasz", "a\u2028b", "]]", "#"],
)
def test_every_text_can_be_written_into_a_new_file(words: str, tmp_path: Path) -> None:
    """The file explains itself, and its folder is made, too."""
    path = tmp_path / "grades" / "overrides.toml"
    append_entry(path, Entry(words, 50.0, "", f"{words}\r\n'''\"\"\""))
    (entry,) = tomllib.loads(path.read_text())["override"]
    assert entry == {"student": words, "points": 50, "comment": f"{words}\r\n'''\"\"\""}
    assert "The last entry for a student and a challenge counts" in path.read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[ override ]]", "[[overide]]", ", line 11: `overide` is not a key here.*`override`"),
        ("# Appeals of week 3", "points = 3", r", line 1: `points` .*choices are override"),
        ("challenge =", "chalenge =", ", line 13: `chalenge` is not a key here.*`challenge`"),
        ('student = "Bob"', "", r", line 11: the key `student` is missing"),
        ('student = "Bob"', 'student = ""', ", line 12: `student`"),
        ('"Bob"', "12345", ", line 12: `student` .*text in quotes"),
        ('"Bob"', '"Bo"', r", line 11: No student .*'Bo'.*Correct the entry, or"),
        ("points = 85", "", r", line 4: the key `points` is missing"),
        ("points = 85", "points = 101", ", line 6: `points` .*is 101.*<= 100"),
        ("points = 85", "points = nan", ", line 6: `points`"),
        ("points = 85", 'points = "85"', ", line 6: .*Write a number"),
        ('"gqa"', '"gqq"', ', line 11: `challenge` is "gqq", .* mean "gqa"'),
        (BY_HAND, "[override]", r", line 1: `override`"),
        (BY_HAND, "[[override", " is not valid TOML"),
    ],
)
def test_wrong_file_is_refused(old: str, new: str, message: str, path: Path) -> None:
    """The message names the file, the line, the key and the next step."""
    path.write_text(BY_HAND.replace(old, new, 1))
    with pytest.raises(DrillError) as caught:
        read(path)
    assert re.search(rf"overrides\.toml({message})", str(caught.value)), caught.value


# The checks of a challenge that has all of them, all right. Their default weights are 0.2 + 0.2 + 4
# + 3 + 2 + 1 + 1 + 1 + 1 + 1 + 1 = 15.4.
ALL = dict.fromkeys(CHECK_ORDER, 1.0)
NO_SCALE = Diagnosis(mistakes=(Mistake("no-scale", "", "", "", ""),), is_only_mistake=True)


def report(
    shares: Mapping[str, float], verdict: Verdict = "failed", diagnosis: Diagnosis | None = None
) -> Report:
    """Return a report with these shares of its checks."""
    outcomes = tuple(
        Outcome(check, "passed" if share == 1 else "failed") for check, share in shares.items()
    )
    return Report("gqa", "gqa.py", 1, verdict, outcomes, shares=shares, diagnosis=diagnosis)


def points(
    shares: Mapping[str, float],
    weights: Mapping[str, float] | None = None,
    verdict: Verdict = "failed",
    diagnosis: Diagnosis | None = None,
    one_mistake: float = 0.0,
) -> float:
    """Return the points of a report."""
    assigned = AssignedChallenge("gqa", weights or {})
    assignment = Assignment("x", (assigned,), one_mistake=one_mistake)
    return score(report(shares, verdict, diagnosis), assigned, assignment)


@each_row(
    "shares, expected",
    {
        "everything": (ALL, 100.0),
        "12.4 of 15.4": (ALL | {"masks": 0.0}, 80.5),
        "13.9 of 15.4: half of the cases with masks": (ALL | {"masks": 0.5}, 90.3),
        "2 lost, and half of 4.4 that need values": (ALL | {"values": 0.5}, 72.7),
        "7 of 15.4": (ALL | {"values": 0.0}, 45.5),
        "4 of 7: the due checks count": ({"values": 1.0, "masks": 0.0}, 57.1),
        "loading brings nothing": ({"loads": 1.0, "values": 0.0}, 0.0),
        "a check without weight": ({"values": 1.0, "from scratch": 0.0}, 100.0),
        "1.7 of 3.2: no check of values": ({"masks": 0.5, "shapes": 1.0}, 53.1),
        "no due check has a weight": ({"loads": 1.0}, 0.0),
        "no check is due": ({}, 0.0),
    },
)
def test_default_weights(shares: dict[str, float], expected: float) -> None:
    """The expected points were computed by hand."""
    assert points(shares) == expected


def test_default_weights_are_those_of_the_documentation() -> None:
    """All other checks bring nothing."""
    text = (ROOT / "docs" / "classroom.md").read_text(encoding="utf-8").split("## Points")[1]
    weights = {}
    for checks, weight in re.findall(r"^\| (`.*`) \| ([\d.]+)", text, re.MULTILINE):
        weights |= dict.fromkeys(re.findall(r"`(.+?)`", checks), float(weight))
    assert {check: weight for check, weight in WEIGHTS.items() if weight} == weights


@pytest.mark.parametrize(
    "check", ["loads", "runs", "shapes", "dtype", "bad sizes", "vectorised", "memory", "work"]
)
def test_check_that_looks_at_no_values_needs_right_values(check: str) -> None:
    """An answer with wrong values that is fast is still wrong, also with another weight."""
    assert points({"values": 0.0, check: 1.0}, {check: 100.0}) == 0.0
    assert points({"values": 0.5, check: 1.0}, {"values": 1.0, check: 1.0}) == 50.0


@each_row(
    "weights, shares, expected",
    {
        "masks keep 3": ({"values": 1}, {"values": 1.0, "masks": 0.0}, 25.0),
        "a check that costs nothing": ({"masks": 0}, {"values": 1.0, "masks": 0.0}, 100.0),
        "new": ({"from scratch": 4}, {"values": 1.0, "from scratch": 0.0}, 50.0),
        "no weights": ({"values": 0}, {"values": 1.0}, 0.0),
    },
)
def test_changed_weights(
    weights: dict[str, float], shares: dict[str, float], expected: float
) -> None:
    """The other checks keep their default weights."""
    assert points(shares, weights) == expected


def test_verdict_can_decide_alone() -> None:
    """A pass always gives 100 points, and library attention gives 0."""
    assert points(ALL, verdict="not-allowed") == 0.0
    assert points({"values": 1.0}, {"values": 0.0}, "passed") == 100.0
    assert points({"values": 0.5}, verdict="timeout") == 50.0


@each_row(
    "shares, diagnosis, expected",
    {
        "the only mistake": ({"values": 0.1}, NO_SCALE, 60.0),
        "more points from the checks": ({"values": 0.9}, NO_SCALE, 90.0),
        "no mistake is named": ({"values": 0.1}, None, 10.0),
        "it is not proved": ({"values": 0.1}, Diagnosis(mistakes=NO_SCALE.mistakes), 10.0),
    },
)
def test_answer_with_one_mistake_has_at_least_the_points_for_it(
    shares: dict[str, float], diagnosis: Diagnosis | None, expected: float
) -> None:
    """The assignment gives 60 points to an answer that one known mistake explains completely."""
    assert points(shares, diagnosis=diagnosis, one_mistake=60.0) == expected
    assert points(shares, diagnosis=diagnosis) == 100 * shares["values"]


def test_each_check_shows_its_points() -> None:
    """By hand: of 5.2 shares, values bring 4, bad sizes 1 and shapes 0.2."""
    shares = {"loads": 1.0, "shapes": 1.0, "values": 0.5, "bad sizes": 1.0}
    parts = check_points(report(shares), AssignedChallenge("gqa"))
    assert [(part.check, part.status, round(part.points, 1)) for part in parts] == [
        ("loads", "passed", 0.0),
        ("shapes", "passed", 1.9),
        ("values", "failed", 38.5),
        ("bad sizes", "passed", 9.6),
    ]


def test_score_stays_between_0_and_100() -> None:
    """For random shares and weights.

    The shares of all points sum to 1 or 0. The score never falls if another check is right.
    """
    random = Random(3)
    for _ in range(300):
        due = random.sample(CHECK_ORDER, random.randrange(1, len(CHECK_ORDER)))
        weights = {
            check: random.choice((0.0, 1.0, random.random() * 10))
            for check in random.sample(CHECK_ORDER, random.randrange(len(CHECK_ORDER)))
        }
        shares = {check: random.choice((0.0, random.random(), 1.0)) for check in due}
        parts = check_points(report(shares), AssignedChallenge("gqa", weights))
        whole = math.fsum(part.share for part in parts)
        assert whole == 0 or math.isclose(whole, 1)
        before = points(shares, weights)
        assert 0 <= before <= 100
        assert points({**shares, due[0]: 1.0}, weights) >= before


@each_row(
    "by_challenge, expected",
    {
        "everything": ({"gqa": 100.0, "mha": 100.0}, 100.0),
        "worth 2 of 3": ({"gqa": 50.0, "mha": 0.0}, 33.3),
        "worth 1 of 3": ({"gqa": 0.0, "mha": 50.0}, 16.7),
        "the grader failed": ({"gqa": 100.0, "mha": None}, None),
        "not graded yet": ({"gqa": 100.0}, None),
        "other challenges do not count": ({"gqa": 50.0, "mha": 0.0, "sdpa": 100.0}, 33.3),
        "a total of 0": ({"gqa": 0.0, "mha": 0.0}, 0.0),
    },
)
def test_total_is_weighted_by_worth(
    by_challenge: dict[str, float | None], expected: float | None
) -> None:
    """The total is None only if a challenge has no score."""
    challenges = (AssignedChallenge("gqa", worth=2.0), AssignedChallenge("mha"))
    assert total(by_challenge, Assignment("x", challenges)) == expected
