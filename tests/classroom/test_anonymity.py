"""Tests of everything that hides names: ids, texts, excerpts, and whole results."""

import pytest

from attn_drill.classroom.anonymity import (
    anonymous_gradebook,
    anonymous_ids,
    excerpt_of,
    name_hider,
    new_salt,
)
from attn_drill.classroom.gradebook import grades_of
from attn_drill.classroom.records import (
    Gradebook,
    Override,
    Student,
    StudentResult,
    StudentSubmission,
)
from attn_drill.model.report import Outcome, Report
from tests.support.classroom import assignment, grade_of, result, student_grade

STUDENTS = [
    Student("Ana Lee", id="1012", login="al77", email="ana.lee@uni.example", upload="Ana Lee.py"),
    Student("Zoe Ng", id="1013", notes=("the name fits Zoe Ng (1)",)),
    Student("Bo Li (7)", id="7"),
    Student("Max Head"),
    Student("李雷"),
]
IDS = {student.name: f"S-{number}" for number, student in enumerate(reversed(STUDENTS))}


def test_ids_depend_on_the_name_and_the_salt_only() -> None:
    """A student who is added changes no other id, and nobody can compute an id without the salt."""
    salt = new_salt()
    ids = anonymous_ids(["Ana", "Bo"], salt)
    assert ids == {name: anonymous_ids([name], salt)[name] for name in ("Ana", "Bo")}
    assert len({*ids.values(), *anonymous_ids(["Ana", "Bo"], new_salt()).values()}) == 4
    assert all(len(student_id) == 14 and student_id.startswith("S-") for student_id in ids.values())


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("by Ana Lee, Lee, Ana and banana", "by …, …, … and banana"),
        ("ana_proj = AnaProjection2(x)", "…_proj = AnaProjection2(x)"),
        ("ana.lee@uni.example, ana.lee, al77, 1012", "…, …, …, …"),
        ("Bo Li and symbolic, bo, x[7]", "… and symbolic, bo, x[7]"),
        ("作者李雷写的", "作者…写的"),
        ("x = max(head, key=ng)", "x = max(…, key=ng)"),
    ],
)
def test_names_are_hidden_in_a_text(text: str, hidden: str) -> None:
    """Words of Python and short words stay, because they tell nothing."""
    assert name_hider(STUDENTS)(text) == hidden
    assert name_hider([])(text) == text


SOURCE = '''\
def f(q, k):
    """By Ana."""
    pattern = "bqhd,bkhd->bhqk"  # from Zoe
    scores = torch.einsum(pattern, q, k) + ana * float("-inf")
    if scores is None:
        raise ValueError(f"oh {q}")
    return scores
'''


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (4, "scores = torch.einsum(pattern, q, k) + … * float('-inf')"),
        (3, "pattern = 'bqhd,bkhd->bhqk'"),
        (5, "if scores is None:\n    raise ValueError(f'…{q}')"),
        (6, "raise ValueError(f'…{q}')"),
        (None, ""),
        (99, ""),
    ],
)
def test_excerpt_is_a_statement_without_words(line: int | None, lines: str) -> None:
    """A worker process reports the line, so the line may be any number."""
    assert excerpt_of(SOURCE, line, name_hider(STUDENTS)) == lines
    assert excerpt_of("x = (", line, str) == ""


def test_gradebook_of_a_marker_names_nobody() -> None:
    """Points and verdicts stay. The rows are sorted by id."""
    submissions = [
        StudentSubmission("Ana Lee", "first", "Ana Lee/gqa.ipynb", None),
        StudentSubmission("Zoe Ng", "first", "zoe.py", None, trouble="Zoe Ng handed in nothing."),
    ]
    results = [result("Ana Lee", score=75.0), result("Zoe Ng", score=0.0, verdict="error")]
    settings = assignment(extensions={"Ana Lee": 1e9})
    decided = Override("Ana Lee", "first", 80.0, "Good idea, Ana. Better than Zoe Ng.")
    rows = grades_of(settings, STUDENTS[:2], submissions, results, [decided])
    book = Gradebook(settings, rows, ("Ana Lee/notes.py",))
    found = anonymous_gradebook(book, IDS, name_hider(STUDENTS))
    assert [row.student.name for row in found.rows] == ["S-3", "S-4"]
    assert [row.total for row in found.rows] == [0.0, 80.0]
    assert found.rows[1].files == ("S-4.ipynb",)
    assert found.rows[1].overrides[0].comment == "Good idea, …. Better than …."
    for word in ("Ana", "Lee", "Zoe", "1012", "1013"):
        assert not any(word in repr(row) for row in found.rows)
    assert (found.other_files, dict(found.assignment.extensions)) == ((), {})


def test_results_of_a_marker_name_nobody() -> None:
    """Neither the report, the file nor the reason why a file cannot be read has a name."""
    wrong = result(
        "Ana Lee",
        verdict="failed",
        failed=("values",),
        file="Ana Lee/gqa.py",
        text="FAILED  first\nAna Lee/gqa.py\nX values\nprinted by ana_proj of Zoe Ng\n",
        source="# Ana Lee\nx = 1\n",
        id="1012",
    )
    trouble = "Zoe Ng did not hand in gqa.py."
    report = Report("first", "zoe.py", None, "error", (Outcome("loads", "failed", trouble),))
    about = {"student": "Zoe Ng", "challenge": "first", "file": "zoe.py"}
    unread = StudentResult(**about, report=report, score=0.0, text=trouble)  # type: ignore[arg-type]
    ungraded = StudentResult(**about, error=trouble, is_ungraded=True)  # type: ignore[arg-type]
    rows = [
        student_grade(Student(each.student), [grade_of(each)], assignment())
        for each in (wrong, unread, ungraded)
    ]
    book = Gradebook(assignment(), (*rows,))
    found = anonymous_gradebook(book, IDS, name_hider(STUDENTS)).results
    assert [each.student for each in found] == ["S-3", "S-3", "S-4"]
    assert found[2].text == "FAILED  first\nS-4.py\nX values\nprinted by …_proj of …\n"
    assert found[2].source == "# …\nx = 1\n"
    for word in ("Ana", "Lee", "Zoe", "1012", "zoe"):
        assert word not in repr(found)
    for each in found[:2]:
        assert "The teacher's report gives the reason." in repr(each)
