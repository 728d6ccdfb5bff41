"""Tests of the page that a student gets back, and of its name."""

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    Lateness,
    Override,
    Student,
    StudentResult,
    System,
)
from attn_drill.export._class_page import class_html
from attn_drill.export.feedback import (
    ChallengeView,
    as_text,
    feedback_html,
    feedback_path,
    feedback_zip,
    gradescope_object,
    student_view,
    with_failure,
    with_report,
    with_trouble,
)
from attn_drill.model.checks import CHECK_ORDER, Verdict
from attn_drill.model.report import Diagnosis, Frame, Outcome, Report
from attn_drill.report.wording import visible
from tests.support.classroom import (
    CHECKS,
    EVERYONE,
    FAILED,
    HOSTILE_NAMES,
    NO_SCALE,
    SETTLE,
    SHOWN,
    assignment,
    grade_of,
    make_gradebook,
    outcome,
    result,
    student_grade,
    ungraded,
)
from tests.support.pages import Page
from tests.support.rows import each_row
from tests.support.whole_class import canvas_student_id, moodle_participant

LATE = Lateness(True, 1e9, 9e8, is_extended=True, days=2, penalty=20.0)


def page(results: Sequence[StudentResult], settings: Assignment, **more: object) -> str:
    """Return the page of a student without penalties and overrides."""
    grade = student_grade(Student("Ann"), [grade_of(found) for found in results], settings, **more)
    return "".join(feedback_html(grade, settings))


def words(text: str) -> str:
    """Return the text of a page with single blanks."""
    return " ".join(Page(text).text.split())


def test_total_says_how_it_came_about() -> None:
    """Each challenge has its points, its penalty and its share. The override has its comment."""
    results = [result("Ann"), result("Ann", "second", "failed", failed=("masks",))]
    settings = assignment(("first", "second"))
    grades = [grade_of(results[0], lateness=LATE, points=80.0), grade_of(results[1])]
    by_checks = student_grade(Student("Ann"), grades, settings)
    shown = words("".join(feedback_html(by_checks, settings)))
    assert "Ann 78.4 of 100 points" in shown
    assert "first 100 −20 80 33% second 77.6 77.6 67%" in shown
    assert "due: 1998-07-09" in shown
    assert "with an extension" in shown
    assert "late: 2 days, −20 points" in shown
    decided = replace(by_checks, override=Override("Ann", "", 85.0, "Well told."), total=85.0)
    shown = words("".join(feedback_html(decided, settings)))
    assert "Ann 85 of 100 points Your teacher decided the total (override): 85 points." in shown
    assert "Well told." in shown


def test_override_of_a_challenge_takes_no_penalty() -> None:
    """The table says that the points are an override, and the challenge has the comment."""
    ann, settings = result("Ann"), assignment()
    decided = Override("Ann", "first", 85.0, "Well told.")
    grades = [grade_of(ann, lateness=LATE, points=85.0, override=decided)]
    grade = student_grade(Student("Ann"), grades, settings)
    shown = words("".join(feedback_html(grade, settings)))
    assert "first 100 85 override 100%" in shown
    assert "override: 85 points. Well told." in shown


def test_table_has_the_points_of_each_check() -> None:
    """A pass without points has a reason. Checks without a weight have no row."""
    shown = words(page([FAILED], assignment(shown="checks")))
    assert "values ✗ failed, 0% right 0.0 of 29.8" in shown
    assert "interface" not in shown
    assert "gradients – incomplete, 0% right 0.0 of 15.0" in shown
    assert "vectorised ✓ passed, but only 0% of values are right 0.0 of 7.5" in shown


def test_page_shows_the_reason_or_the_report() -> None:
    """The report has the messages of all checks, so the reasons stand alone without it."""
    no_load = result("Ann", verdict="error", failed=("loads",), skipped=CHECKS[1:])
    for shown in SHOWN:
        text = words(page([no_load], assignment(shown=shown)))
        assert ("seed 123456" in text) == (shown == "report")
        assert ("loads failed: it says <no> & stops" in text) == (shown == "checks")
        assert ("error: it says <no> & stops" in text) == (shown == "verdict")
        assert "Correct the file" in text


@pytest.mark.parametrize("found", [result("Ann", verdict=None), ungraded("Ann"), None])
def test_challenge_without_points_gives_no_total(found: StudentResult | None) -> None:
    """The page says why, and names no command. A person may decide the total."""
    results = [] if found is None else [found]
    text = words(page(results, assignment()))
    assert "There is no total yet, because the challenge has no points." in text
    assert "of 100 points" not in text
    assert "teacher" in text
    assert "--resume" not in text
    decided = words(page(results, assignment(), override=Override("Ann", "", 10.0)))
    assert "10 of 100 points" in decided


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: visible(name)[:20])
def test_text_is_never_markup(name: str) -> None:
    """The page has the same tags if all texts are a hostile name. It loads nothing."""
    settings = assignment()
    pages = []
    for text in ("x", name):
        found = result(
            text, verdict="failed", failed=("values",), file=text, text=f"FAILED  x\n{text}"
        )
        override = Override(text, "", 5.0, text)
        grade = student_grade(Student(text), [grade_of(found)], settings, override)
        pages.append("".join(feedback_html(grade, settings)))
    plain, parsed = map(Page, pages)
    assert [tag for tag, _ in parsed.tags] == [tag for tag, _ in plain.tags]
    assert not parsed.named("script")
    assert not parsed.named("a")


@each_row(
    "student, path",
    {
        "a plain file": (Student("Ana Lee", upload="ana.py"), "Ana Lee.html"),
        "Canvas": (
            Student("Ana", system="canvas", system_id="101", upload="leeana_101_5551_gqa.py"),
            "leeana_101_5551_feedback.html",
        ),
        "Canvas, late": (
            Student("Ana", system="canvas", upload="leeana_LATE_101_5551_my_gqa-1.py"),
            "leeana_LATE_101_5551_feedback.html",
        ),
        "a folder of Moodle": (
            Student("Ana", system="moodle", upload="Ana Lee_12345_assignsubmission_file"),
            "Ana Lee_12345_assignsubmission_file_/feedback.html",
        ),
        "a file of Moodle": (
            Student("Ana", system="moodle", upload="Ana Lee_12345_assignsubmission_file_gqa.py"),
            "Ana Lee_12345_assignsubmission_file_/feedback.html",
        ),
        "Blackboard": (
            Student("Ana", system="blackboard", system_id="alee", upload="W_alee_attempt_2026.py"),
            "alee/feedback.html",
        ),
    },
)
def test_each_system_finds_its_student_by_the_path(student: Student, path: str) -> None:
    """The path begins like the path of the submission."""
    assert feedback_path(student) == path


@pytest.mark.parametrize("name", ["/tmp/x", "../../x", "..", "C:\\x", "a\0b", "n" * 250])
@pytest.mark.parametrize(
    ("system", "ending"),
    [
        ("", ""),
        ("canvas", "_1_2_gqa.py"),
        ("canvas", "_LATE_1_2_gqa.py"),
        ("moodle", "_1_assignsubmission_file"),
        ("blackboard", "_attempt_2026-12-01-10-00-00_gqa.py"),
    ],
)
def test_no_name_leads_out_of_the_folder(name: str, system: System, ending: str) -> None:
    """A member of a class's zip can have any name. Every file system accepts the new name."""
    student = Student(name, system=system, system_id=name, upload=name + ending)
    parts = feedback_path(student).split("/")
    assert len(parts) == 1 + (system in ("moodle", "blackboard"))
    assert not {"", ".", ".."} & set(parts)
    assert all(len(part.encode()) < 250 for part in parts)
    assert not any(char in part for part in parts for char in "\0\\:")


def test_the_systems_read_their_ids_from_the_paths() -> None:
    """The readers follow the documentation of the systems."""
    canvas = Student("Ana", system="canvas", upload="leeana_LATE_101_5551_gqa.py")
    assert canvas_student_id(feedback_path(canvas)) == "101"
    moodle = Student("Ana", system="moodle", upload="Ana_B Lee_12345_assignsubmission_file_gqa.py")
    assert moodle_participant(feedback_path(moodle)) == "12345"


def test_the_same_feedback_gives_the_same_zip() -> None:
    """The zip holds each page under its path."""
    files = [("a/feedback.html", b"<p>a"), ("王.html", b"<p>b")]
    data = feedback_zip(files)
    assert data == feedback_zip(files)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == dict(files)


def content_of(results: list[StudentResult], settings: Assignment) -> dict[str, Any]:
    """Return the object of a student without penalties and overrides."""
    (grade,) = make_gradebook(results, settings).rows
    return gradescope_object(grade, settings)


@pytest.mark.parametrize("shown", SHOWN)
def test_points_of_all_checks_add_up(shown: str) -> None:
    """The points sum to the score exactly, and the maxima to 100. Each due check has an entry."""
    settings = assignment(shown=shown)
    for found in EVERYONE[::5]:
        content = content_of([found], settings)
        if found.verdict is None:
            assert "score" not in json.dumps(content)
        else:
            assert content["score"] == found.score
        if found.verdict is None or shown == "verdict":
            assert "tests" not in content
            continue
        tests = content["tests"]
        assert round(sum(test["max_score"] for test in tests), 6) == 100
        assert round(sum(test["score"] for test in tests), 6) == found.score
        assert {test["name"]: test["status"] for test in tests} == {
            name: "passed" if status == "passed" else "failed"
            for name, status in found.statuses().items()
        }


def test_points_follow_from_weights_and_worth() -> None:
    """The worth divides 100 points among the challenges, and the weights divide them further."""
    weights = dict.fromkeys(CHECK_ORDER, 0.0) | {"values": 3.0, "masks": 1.0}
    settings = Assignment(
        "x", (AssignedChallenge("first", weights, 1.0), AssignedChallenge("second", weights, 2.0))
    )
    results = [
        result("Ann", challenge, "failed", failed=("masks",), weights=weights)
        for challenge in ("first", "second")
    ]
    content = content_of(results, settings)
    points = {
        test["name"]: (test["score"], test["max_score"])
        for test in content["tests"]
        if test["max_score"]
    }
    assert points == {
        "first: values": (25.0, 25.0),
        "first: masks": (0, 8.33),
        "second: values": (50.0, 50.0),
        "second: masks": (0, 16.67),
    }
    assert content["score"] == 75


def test_points_of_several_challenges_add_up() -> None:
    """Up to the rounding of each check. One of them may bring more than its checks."""
    settings = assignment(("first", "second"))
    results = [
        result("Ann", challenge, "failed", failed=("masks", "gradients"), skipped=("properties",))
        for challenge in settings.challenge_ids
    ]
    content = content_of(results, settings)
    total = sum(test["score"] for test in content["tests"])
    assert total == pytest.approx(content["score"], abs=0.1)
    assert sum(test["max_score"] for test in content["tests"]) == pytest.approx(100, abs=0.1)
    least = result("Ann", verdict="failed", failed=("values",), score=60.0)
    content = content_of([least], assignment())
    assert round(sum(test["score"] for test in content["tests"]), 6) == content["score"] == 60


def test_library_attention_brings_no_points() -> None:
    """Passed checks keep their status, but bring no points."""
    content = content_of(
        [result("Ann", verdict="not-allowed", failed=("from scratch",))], assignment()
    )
    assert content["score"] == 0
    assert {test["score"] for test in content["tests"]} == {0}
    assert Counter(test["status"] for test in content["tests"]) == {"passed": 13, "failed": 1}
    assert "from scratch" in content["output"]


@pytest.mark.parametrize("other", [None, result("Ann", "second", None), ungraded("Ann", "second")])
def test_no_score_if_a_challenge_has_no_points(other: StudentResult | None) -> None:
    """Nothing is 0 that a person must settle. The output names no command and no file."""
    content = content_of(
        [result("Ann"), *([other] if other else [])], assignment(("first", "second"))
    )
    assert "score" not in json.dumps(content)
    assert "tests" not in content
    assert "teacher" in content["output"].split("second: ")[1]
    assert "--resume" not in content["output"]


def test_penalty_and_override_decide_the_score() -> None:
    """The output has the due time, the penalty, and the decision with its comment."""
    settings = assignment()
    late = Lateness(True, 1e9, 9e8, days=2, penalty=20.0)
    decided = Override("Ann", "", 85.0, "Well told.")
    for override, score in ((None, 80.0), (decided, 85.0)):
        grades = [grade_of(result("Ann"), lateness=late, points=80.0)]
        grade = student_grade(Student("Ann"), grades, settings, override)
        content = gradescope_object(grade, settings)
        assert content["score"] == score
        assert "late: 2 days, −20 points" in content["output"]
        assert ("override: 85 points. Well told." in content["output"]) == (override is not None)


@pytest.mark.parametrize("shown", SHOWN)
def test_output_shows_what_students_may_see(shown: str) -> None:
    """The table needs more than the verdict; messages and report need the whole report."""
    content = content_of([FAILED], assignment(shown=shown))
    assert ("all checks" in content["output"]) == (shown != "verdict")
    assert ("seed 123456" in content["output"]) == (shown == "report")
    assert ("execution_time" in content) == (shown == "report")
    tests = {test["name"]: test["output"] for test in content.get("tests", ())}
    if shown == "report":
        assert [line[:19] for line in tests["masks"].splitlines()] == [
            "padding mask: 300 o",
            "causal: 300 of 672 ",
        ]
    if shown != "verdict":
        assert tests["gradients"].startswith("incomplete")
        assert tests["vectorised"] == "passed, but only 0% of values are right"
        assert tests["train/eval"] == tests["loads"] == ""
    else:
        assert content == {
            "score": 14.9,
            "output": "first: failed",
            "output_format": "text",
            "visibility": "visible",
            "stdout_visibility": "hidden",
        }


BARE = StudentResult(student="ana", challenge="first", file="ana.py", score=0.0)
# Options, commands and names that only a person at the command line understands.
COMMAND = re.compile(r"(?<!\S)`?--?[a-z]|attn-drill|\b(?:reset|hint|doctor|trace|repro)\b")
ADVICE = "`--time-limit` raises the limit"


def report(verdict: Verdict, *outcomes: Outcome, **more: object) -> Report:
    """Return a report with printed lines and notes."""
    about: dict[str, object] = {"seed": 5, "stdout": "printed\n" * 50} | more
    return Report("first", "ana.py", verdict=verdict, outcomes=outcomes, **about)  # type: ignore[arg-type]


def test_lines_of_a_notebook_name_their_cell() -> None:
    """The student sees cells, and not the file that was made of them."""
    source = "# cell 2\nimport torch\n\n# cell 5\ndef f(x):\n    return y\n"
    outcome = Outcome("runs", "failed", "NameError: y", frames=(Frame(6, "f", "return y"),))
    result = with_report(replace(BARE, file="ana.ipynb"), report("error", outcome), source)
    assert result.text.endswith("\nLine 6 is line 2 of code cell 5.\n")
    assert "cell" not in with_report(BARE, report("error", outcome), source).text
    assert result.source == source


def failed(check: str, message: str, advice: str = "") -> tuple[Outcome, ...]:
    """Return the outcomes of a file whose first failed check is this check."""
    index = CHECKS.index(check)
    return (
        *(Outcome(name, "passed") for name in CHECKS[:index]),
        Outcome(check, "failed", message, frames=(Frame(3, "forward", "x = y"),), advice=advice),
        *(Outcome(name, "skipped", f"needs {check}") for name in CHECKS[index + 1 :]),
    )


KINDS = {
    "passed": report("passed", *(Outcome(name, "passed") for name in CHECKS)),
    "failed": report(
        "failed",
        *failed("values", "3 of 6 values differ"),
        diagnosis=Diagnosis(mistakes=(replace(NO_SCALE, hint="Look at the scores."),)),
    ),
    "error": report("error", *failed("runs", "RuntimeError: size mismatch")),
    "timeout": report("timeout", *failed("runs", "still running at the time limit", ADVICE)),
    "timeout at import": report("timeout", *failed("loads", "it used 10 s", ADVICE)),
    "memory": report("memory", *failed("runs", "it used all the memory", "`--memory-limit` x")),
    "not allowed": report("not-allowed", *failed("from scratch", "torch has it")),
    "stub unchanged": report(
        "error",
        *failed("runs", "NotImplementedError: this part is not written yet"),
        unfinished="is not finished: forward raises NotImplementedError",
    ),
    "syntax error": report("error", *failed("loads", "SyntaxError: invalid syntax at line 3")),
}


def texts_of(result: StudentResult) -> Iterator[str]:
    """Yield every text that a student sees."""
    yield result.text
    for shown in ("report", "checks", "verdict"):
        settings = assignment(shown=shown)
        book = make_gradebook([result], settings)
        about = gradescope_object(book.rows[0], settings)
        yield json.dumps(about, ensure_ascii=False).replace("\\n", " ")
        feedback = "".join(feedback_html(book.rows[0], settings))
        yield re.sub("(?s)<head>.*</head>|<[^>]*>", " ", feedback)
    page = "".join(class_html(make_gradebook([result], assignment())))
    yield re.sub("<[^>]*>", " ", page.split('<section id="reports">')[1].split("<script>")[0])


@pytest.mark.parametrize("kind", KINDS)
def test_student_sees_no_command(kind: str) -> None:
    """Reports of all kinds name no option and no command in all texts for students."""
    result = with_report(BARE, KINDS[kind], "x = 1\n")
    for text in texts_of(result):
        assert COMMAND.search(text) is None, text


def test_student_with_a_file_that_cannot_be_graded_sees_no_command() -> None:
    """The file cannot be read, or the grader failed."""
    for text in texts_of(with_trouble(BARE, "ana.py is empty.")):
        assert COMMAND.search(text) is None, text
    found = with_failure(BARE, "It broke; `attn-drill doctor` shows more.")
    for text in list(texts_of(found))[1:-1]:  # the first and the last text are for the teacher
        assert COMMAND.search(text) is None, text


def test_text_of_a_report_has_no_likely_mistake() -> None:
    """The text has the checks and the message."""
    text = as_text(KINDS["failed"])
    assert "3 of 6 values differ" in text
    assert NO_SCALE.says not in text


def test_unreadable_file_fails_the_check_loads() -> None:
    """The result has a report with 0 points, and its text has the reason with escapes."""
    handed_in = StudentResult(student="ana", challenge="gqa", file="ana.py", score=0.0)
    found = with_trouble(handed_in, "ana.py is empty.\x1b[2J")
    assert (found.verdict, found.score, found.statuses()) == ("error", 0.0, {"loads": "failed"})
    assert found.text == "✗ loads\n  ana.py is empty.\\x1b[2J\n"


def test_failure_of_the_grader_gives_no_verdict_and_no_score() -> None:
    """The result keeps the sentence as its error."""
    handed_in = StudentResult(student="ana", challenge="gqa", file="ana.py", score=0.0)
    found = with_failure(handed_in, "The disk is full.")
    assert (found.verdict, found.score, found.error) == (None, None, "The disk is full.")
    assert found.text == "NOT GRADED  gqa\nThe disk is full.\n"


NOT_READ = with_trouble(
    StudentResult(student="Ann", challenge="first", file="ann.py", score=0.0), "there is no file."
)


def does_not_load(message: str) -> StudentResult:
    """Return the result of a file whose import fails."""
    return result(
        "Ann",
        verdict="error",
        outcomes=(
            outcome("loads", "failed", message=message),
            *(outcome(check, "skipped", message="needs loads") for check in CHECKS[1:]),
        ),
    )


def view_of(found: StudentResult, settings: Assignment) -> ChallengeView:
    """Return a student's view of one result."""
    (grade,) = make_gradebook([found], settings).rows
    (view,) = student_view(grade, settings)
    return view


@pytest.mark.parametrize("shown", ["checks", "verdict"])
def test_nothing_reveals_a_hidden_case(shown: str) -> None:
    """Students see no message, print, seed, time, digest, line or likely mistake.

    If they may see only the verdict, they see no check either.
    """
    secrets = (
        *("SECRET", "differ", "padding", "123456", "digest", "1.25", "line 34", "no-scale"),
        *("sqrt", "tiled", "q @ k", "disk"),
    )
    for found in (
        FAILED,
        result("Ann", verdict=None),
        NOT_READ,
        result("Ann", verdict="timeout", failed=("runs",)),
        ungraded(),
    ):
        view = view_of(found, assignment(shown=shown))
        text = json.dumps(asdict(view) | {"grade": None}, ensure_ascii=False)
        assert not [secret for secret in secrets if secret in text]
        assert shown == "checks" or not any(f'"{check}"' in text for check in CHECK_ORDER)


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (NOT_READ, "there is no file."),
        (does_not_load("NameError: nm at line 3"), "NameError: nm"),
        (does_not_load("ModuleNotFoundError: No module named 'einops'"), "named 'einops'"),
    ],
    ids=["not read", "does not load", "missing module"],
)
def test_student_sees_why_a_file_does_not_load(
    shown: str, found: StudentResult, reason: str
) -> None:
    """The student needs the reason and the next step, whatever else is shown."""
    view = view_of(found, assignment(shown=shown))
    assert "Correct the file so that it loads with torch" in view.says
    assert reason in f"{view.says} {view.reasons.get('loads')} {view.report}"


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize(
    ("found", "words"),
    [
        (result("Ann", verdict=None, error="Run `attn-drill doctor`."), "not your fault"),
        (ungraded(), "several files have your name"),
    ],
)
def test_submission_that_was_not_graded_has_no_details(
    shown: str, found: StudentResult, words: str
) -> None:
    """The sentence of the error is for the teacher, and may name a command."""
    view = view_of(found, assignment(shown=shown))
    assert words in view.says
    assert (view.verdict, view.rows, view.report) == (None, (), "")
    assert view.symbol_and_word[1] == "not graded"
    assert SETTLE not in view.says


def test_missing_submission_has_the_next_step() -> None:
    """A teacher knows where the file is."""
    settings = assignment(("first", "second"))
    (grade,) = make_gradebook([result("Ann")], settings).rows
    first, second = student_view(grade, settings)
    assert [first.share, second.share] == pytest.approx([1 / 3, 2 / 3])
    assert "tell your teacher" in second.says
    assert second.symbol_and_word[1] == "no submission"


@pytest.mark.parametrize("why", [True, False])
def test_student_sees_the_whole_report_if_allowed(why: bool) -> None:
    """The likely mistake needs `why`, too. Its id is a name of ours."""
    view = view_of(FAILED, assignment(shown="report", why=why))
    assert view.report == visible(FAILED.text, lines=True)
    assert (NO_SCALE.says in view.says) == why
    assert "no-scale" not in view.says
    assert view.reasons["masks"].startswith("padding mask: 300 of 672")
