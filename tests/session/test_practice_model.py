"""The rules of a practice session, without a screen."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attn_drill.model.report import Lesson, Note, Trace
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Attempted, Started
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, rated_reviews
from attn_drill.server.messages import Ready, Refused, Taught, Traced, TraceLines, Verdict
from attn_drill.session._practice_model import ACTIONS, Ended, PracticeModel
from tests.support.fake_grader import report_on
from tests.support.practice import Practice
from tests.support.session import GQA
from tests.support.sitting import sitting

INTERVIEW: dict[str, Any] = {"purpose": "interview", "stage": "line"}
NOTE = Note(1, "This line copies repeated entries.", "It costs memory.")


@pytest.fixture
def practice(file: Path, home: Path) -> Practice:
    """Return a session whose grader is ready."""
    return Practice(file, home)


@pytest.fixture
def interview(file: Path, home: Path) -> Practice:
    """Return a problem of an interview, after its opening page."""
    made = Practice(file, home, sitting=sitting(), **INTERVIEW)
    made.model.begin()
    return made


# Saves


def test_stub_and_the_text_graded_last_are_not_graded(practice: Practice) -> None:
    """The learner has done nothing yet, or nothing new. A key grades any text."""
    stub = practice.path.read_text()
    assert practice.grades == []
    practice.save("wrong")
    practice.write("wrong")
    practice.write(stub)
    assert len(practice.grades) == 1
    practice.save("wrong")
    practice.press("again")
    assert [request.submission.source for request in practice.grades] == ["wrong"] * 3


def test_earlier_work_is_graded_when_the_grader_is_ready(file: Path, home: Path) -> None:
    """Before that, a save is only kept in the file."""
    file.write_text("right")
    practice = Practice(file, home)
    assert len(practice.grades) == 1
    cold = PracticeModel(practice.model.request, practice.model.journal, practice.sent.append)
    cold.look()
    assert len(practice.grades) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [(b"", "is empty"), (b"\xff\xfe", "is not UTF-8"), (b"a\0b", "NUL"), (None, "no file")],
    ids=["half-written", "no text", "nul", "deleted"],
)
def test_file_that_cannot_be_read_gets_a_sentence(
    practice: Practice, text: bytes | None, says: str
) -> None:
    """The session continues, and grades the next good save."""
    if text is None:
        practice.path.unlink()
    else:
        practice.path.write_bytes(text)
    practice.model.look()
    assert says in practice.model.status
    practice.save("right")
    assert practice.model.record.passed


def test_reply_to_an_earlier_request_is_ignored(practice: Practice) -> None:
    """A save supersedes the grading of the text before it."""
    practice.write("wrong")
    practice.write("right")
    assert practice.model.state_text == "grading …"
    practice.model.reply(Verdict(1, report_on("gqa", "gqa.py", "wrong", 1)))
    assert practice.model.report is None
    practice.answer()
    assert practice.model.state_text == "PASSED 2/2"
    assert practice.model.record.result("quit").attempts == 1


def test_refusal_is_shown_and_a_save_is_graded_again(practice: Practice) -> None:
    """A refusal is no verdict."""
    practice.write("wrong")
    practice.model.reply(Refused(1, "No verdict can be given."))
    assert practice.model.status == "No verdict can be given."
    assert (practice.model.is_grading, practice.model.report) == (False, None)
    practice.save("right")
    assert practice.model.record.passed


@pytest.mark.parametrize("is_last", [False, True])
def test_end_of_the_grading_process_is_reported(practice: Practice, is_last: bool) -> None:
    """The next process grades the file again, except after the last process."""
    practice.write("wrong")
    practice.model.reply(Ended("it fell over", is_last))
    assert "(it fell over)" in practice.model.status
    assert ("doctor" in practice.model.status) == is_last
    assert not practice.model.is_grading
    practice.model.reply(Ready())
    assert len(practice.grades) == 2


# Verdicts


def test_unfinished_text_is_not_an_attempt(practice: Practice) -> None:
    """The last verdict stays, and the report pane keeps its place."""
    practice.save("half 1")
    assert practice.model.front == "task"
    assert "does not parse: line 12, '(' was never closed; this does not count" in (
        practice.model.status
    )
    assert practice.model.state_text == "does not parse: line 12"
    practice.save("wrong")
    practice.clock.now += 60
    practice.save("half 2")
    assert practice.model.report is not None
    assert (practice.model.report.verdict, practice.model.source) == ("failed", "wrong")
    practice.press("again")
    practice.answer()
    assert practice.model.status.startswith("Graded once more: gqa.py does not parse")
    practice.save("right")
    assert practice.model.unfinished is None
    attempts = practice.model.journal.facts(Attempted)
    assert [attempt.verdict for attempt in attempts] == ["failed", "passed"]


def test_diagnosis_that_comes_later_is_recorded_once(practice: Practice) -> None:
    """The first verdict is recorded at once, and the diagnosis does not make a second attempt."""
    complete = report_on("gqa", "gqa.py", "wrong", 1)
    practice.write("wrong")
    practice.model.reply(Verdict(1, replace(complete, diagnosis=None), is_final=False))
    assert practice.model.status == "Looking for the cause …"
    assert practice.model.refusal("why") == "Looking for the cause …"
    practice.model.reply(Verdict(1, complete))
    (attempt,) = counted_attempts(practice.model.journal.facts())
    assert attempt.mistakes == ("no-scale",)
    assert (practice.model.status, practice.model.front) == ("", "report")


def test_journal_that_cannot_be_written_does_not_stop_the_session(
    file: Path, tmp_path: Path
) -> None:
    """Every save is still graded."""
    (tmp_path / "a file").write_text("")
    practice = Practice(file, tmp_path / "a file" / "home")
    practice.save("right")
    assert practice.model.record.passed
    assert "progress is not kept" in practice.model.journal.trouble


# Stages of the report


def test_key_shows_the_next_stage_and_its_label_says_which(file: Path, home: Path) -> None:
    """After the mistake there is nothing more to show. The next verdict begins anew."""
    practice = Practice(file, home, stage="where")
    practice.save("wrong")
    for label, stage in (
        ("the line", "line"),
        ("a question", "question"),
        ("the mistake", "cause"),
    ):
        assert practice.model.shown_keys()[0] == ("w", label)
        practice.press("why")
        assert practice.model.stage == stage
    assert "shows all that is known" in practice.model.refusal("why")
    assert practice.shown()[0] == "e"
    practice.save("wrong again")
    assert practice.model.stage == "where"


# The trace


def test_trace_is_that_of_the_graded_text(practice: Practice) -> None:
    """The next verdict removes it. The key closes it, too."""
    practice.save("wrong")
    practice.path.write_text("another text, not saved for the grader")
    practice.press("trace")
    request = practice.sent[-1]
    assert isinstance(request, TraceLines)
    assert (request.submission.source, request.seed) == ("wrong", 1)
    trace = Trace(None, 1, 7, ())  # type: ignore[arg-type]  # nothing draws it
    practice.model.reply(Traced(request.id, trace))
    assert (practice.model.page, practice.label("t")) == ("trace", "close")
    practice.press("trace")
    assert practice.model.page == "report"
    practice.model.reply(Traced(request.id, trace))
    practice.save("right")
    assert practice.model.page == "report"


def test_keys_of_the_report_leave_another_page(practice: Practice) -> None:
    """The trace is asked for from the page of other answers, and Esc closes any page."""
    practice.save("right")
    practice.press("answers")
    assert practice.model.close_page()
    assert not practice.model.close_page()
    practice.press("answers", "trace")
    assert isinstance(practice.sent[-1], TraceLines)


# Keys


@pytest.mark.parametrize(
    ("state", "keys"),
    [
        ("fresh", ["e", "h", "tab", "?", "q"]),
        ("failed", ["e", "t", "h", "?", "q"]),
        ("passed", ["n", "o", "f", "?", "q"]),
        ("question", ["enter", "f", "?", "q"]),
        ("answer", ["1-4", "f", "?", "q"]),
        ("interview", ["n", "h", "tab", "?", "q"]),
        ("interview failed", ["n", "w", "h", "?", "q"]),
    ],
)
def test_at_most_five_keys_are_shown_with_the_next_step_first(
    file: Path, home: Path, state: str, keys: list[str]
) -> None:
    """All others are in the list of the key `?`."""
    options = {"sitting": sitting(), **INTERVIEW} if "interview" in state else {}
    practice = Practice(file, home, **options)
    if options:
        practice.model.begin()
    if state in ("failed", "interview failed"):
        practice.save("wrong")
    elif state not in ("fresh", "interview"):
        practice.save("right")
    if state in ("question", "answer"):
        practice.press("questions")
    if state == "answer":
        practice.press("reveal")
    assert practice.shown() == keys


def test_every_key_works_or_says_why_not(file: Path, home: Path) -> None:
    """No action raises in any state, and every refusal is a sentence."""
    for text in ("", "wrong", "half", "right"):
        practice = Practice(file, home)
        if text:
            practice.save(text)
        for name in ACTIONS:
            refusal = practice.model.refusal(name)
            assert not refusal or refusal.endswith((".", "…")), name
            practice.press(name)
            assert practice.model.shown_keys(), name


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("why", "", "Nothing is graded yet"),
        ("trace", "", "Nothing is graded yet"),
        ("next", "", "when this one is passed"),
        ("rate", "", "no grade to change"),
        ("answers", "wrong", "come after the pass"),
        ("questions", "wrong", "come after the pass"),
        ("why", "right", "no mistake to name"),
        ("reveal", "right", "no answer to show"),
    ],
)
def test_key_that_does_nothing_says_why(
    practice: Practice, name: str, text: str, says: str
) -> None:
    """A learner who presses it learns when it works."""
    if text:
        practice.save(text)
    assert says in practice.model.refusal(name)


def test_keys_wait_for_the_grader(practice: Practice) -> None:
    """A grader that is starting, and a text that is being graded."""
    practice.save("wrong")
    practice.write("slow")
    assert "press t again" in practice.model.refusal("trace")
    practice.model.reply(Ended("", is_last=False))
    assert "still starting" in practice.model.refusal("again")


def test_file_that_could_not_be_loaded_has_no_trace(practice: Practice) -> None:
    """No line ran."""
    practice.write("wrong")
    failed = report_on("gqa", "gqa.py", "wrong", 1)
    loads = replace(failed.outcomes[0], status="failed")
    practice.model.reply(Verdict(1, replace(failed, outcomes=(loads,))))
    assert "could not be loaded" in practice.model.refusal("trace")


def test_hints_are_shown_until_the_last(practice: Practice) -> None:
    """Each of them brings the task to the front."""
    practice.save("wrong")
    for count in range(1, len(GQA.hints) + 1):
        practice.press("hint")
        assert (practice.model.record.hints, practice.model.front) == (GQA.hints[:count], "task")
    assert "no further hint" in practice.model.refusal("hint")


# Reset


def test_reset_keeps_the_old_file_and_forgets_the_verdict(practice: Practice) -> None:
    """The question names the level. A verdict on the old text is ignored."""
    practice.save("wrong")
    practice.clock.now += 60
    practice.write("my work")
    question = practice.model.question("reset")
    assert question.startswith("Write a fresh stub of the level standard to gqa.py?")
    practice.press("reset")
    assert "kept as gqa.old-1.py" in practice.model.status
    assert (practice.path.parent / "gqa.old-1.py").read_text() == "my work"
    assert practice.path.read_text() == pack_reader.stub(GQA)
    practice.answer()
    assert (practice.model.report, practice.model.state_text) == (None, "not graded yet")
    assert practice.model.record.result("quit").attempts == 1


def test_reset_gives_the_level_that_was_asked_for(file: Path, home: Path) -> None:
    """`start gqa --level blank` over the learner's work asks with this question."""
    practice = Practice(file, home, level="blank")
    practice.path.write_text("my work")
    assert "of the level blank" in practice.model.question("reset")
    practice.press("reset")
    assert practice.path.read_text() == pack_reader.stub(GQA, "blank")
    assert practice.model.journal.facts(Started)[-1].level == "blank"


def test_hunt_has_no_reset(file: Path, home: Path) -> None:
    """The text that a hunt handed out may be repaired in part."""
    practice = Practice(file, home, purpose="hunt", untouched="a reference with a mistake")
    assert "no stub" in practice.model.refusal("reset")


def test_text_of_a_hunt_is_graded_only_when_it_changes(file: Path, home: Path) -> None:
    """The learner has done nothing yet. A pass brings no lesson."""
    file.write_text("a reference with a mistake")
    practice = Practice(
        file, home, purpose="hunt", untouched=file.read_text(), hunted=("no-scale",)
    )
    assert practice.grades == []
    practice.save("right")
    assert practice.grades[-1].planted == ("no-scale",)
    assert (practice.model.after, practice.lessons) == (None, [])


# After a pass


def test_pass_asks_for_the_lesson_and_shows_what_comes_next(practice: Practice) -> None:
    """A lesson about an earlier text is ignored."""
    practice.save("right")
    assert practice.model.after is not None
    assert "passed" in practice.model.after.next_line
    (request,) = practice.lessons
    assert (request.submission.source, request.id) == ("right", 1)
    practice.model.reply(Taught(request.id + 1, Lesson(notes=(NOTE, NOTE))))
    assert practice.model.after.lesson is None
    practice.model.reply(Taught(request.id, Lesson(notes=(NOTE,))))
    assert practice.model.after.lesson == Lesson(notes=(NOTE,))


def test_lesson_is_asked_for_again_after_another_request(practice: Practice) -> None:
    """A new request ends the measurement, so it would never come."""
    practice.save("right")
    trace = Trace(None, 1, 7, ())  # type: ignore[arg-type]  # nothing draws it
    practice.press("trace")
    practice.model.reply(Traced(practice.sent[-1].id, trace))  # type: ignore[union-attr]
    assert len(practice.lessons) == 2
    practice.save("half right")
    assert len(practice.lessons) == 3
    assert (practice.lessons[-1].submission.source, practice.lessons[-1].id) == ("right", 2)
    practice.model.reply(Taught(2, Lesson(notes=(NOTE,))))
    practice.press("again")
    practice.answer()
    assert len(practice.lessons) == 3, "the lesson is there"


def test_measurement_that_fails_changes_no_verdict(practice: Practice) -> None:
    """The page says that the answer could not be measured."""
    practice.save("right")
    practice.model.reply(Refused(1, "realistic() raises an error."))
    assert practice.model.after is not None
    assert practice.model.after.lesson == Lesson(is_measured=False)
    assert practice.model.state_text == "PASSED 2/2"


def test_pages_of_other_answers_end_at_the_report(practice: Practice) -> None:
    """The label says that the key turns the page."""
    practice.save("right")
    after = practice.model.after
    assert after is not None
    pages = []
    for _ in range(len(after.pages(practice.model.journal)) + 1):
        practice.press("answers")
        pages.append((practice.model.page, after.page_index))
        assert practice.label("o") == (
            "next page" if practice.model.page == "answers" else "other answers"
        )
    assert pages[:-1] == [("answers", index) for index in range(len(pages) - 1)]
    assert pages[-1][0] == "report"


def test_questions_are_rated_only_while_their_answer_is_shown(practice: Practice) -> None:
    """Behind the task, the keys 1 to 4 change the grade of the pass."""
    practice.save("right")
    practice.press("questions")
    assert "Press Enter first" in practice.model.refusal("rate")
    practice.press("reveal", "pane")
    assert practice.model.refusal("rate") == ""
    practice.model.rate(2)
    assert practice.model.status == "Graded hard, as you say."
    practice.press("pane")
    practice.model.rate(4)
    journal = practice.model.journal
    reviews = rated_reviews(journal.facts(), "follow-up:")
    assert [(review.item, review.rating) for review in reviews] == [("follow-up:gqa:1", 4)]
    (grade,) = rated_reviews(journal.facts(), "challenge:")
    assert grade.rating == 2


def test_next_pass_goes_on_with_the_questions(practice: Practice) -> None:
    """A failure between them shows its report."""
    practice.save("right")
    practice.press("questions", "reveal")
    practice.model.rate(3)
    practice.press("reveal")
    practice.save("right, and more simply")
    after = practice.model.after
    assert after is not None
    assert (practice.model.page, after.question_index, after.is_revealed) == ("questions", 1, True)
    practice.save("wrong")
    assert practice.model.page == "report"
    practice.save("right again")
    practice.press("questions")
    assert practice.model.after is not None
    assert practice.model.after.question_index == 1


# Interviews


def test_clock_of_an_interview_starts_after_the_opening_page(file: Path, home: Path) -> None:
    """Before that, no second counts and nothing is graded. The clock does not stop at a pass."""
    file.write_text("right")
    practice = Practice(file, home, sitting=sitting(), **INTERVIEW)
    practice.clock.now += 500
    practice.model.look()
    assert practice.grades == []
    assert practice.model.record.stopwatch.seconds == 300.0
    practice.model.begin()
    practice.answer()
    practice.clock.now += 20
    assert practice.model.record.result("next").seconds == 320.0
    assert practice.model.seconds_left == 1780.0


def test_interview_asks_before_what_costs(interview: Practice) -> None:
    """To hand in, a hint, and the likely mistake. To see the line or a question costs nothing."""
    interview.save("wrong")
    assert interview.model.question("next").endswith("It is FAILED 1/2.")
    assert "a quarter" in interview.model.question("hint")
    assert interview.model.question("why") == ""
    interview.press("why")
    assert "a quarter" in interview.model.question("why")
    assert interview.label("n") == "hand in"


def test_practice_asks_only_before_a_reset(practice: Practice) -> None:
    """Nothing else can lose anything."""
    practice.save("wrong")
    assert [name for name in ACTIONS if practice.model.question(name)] == ["reset"]


def test_interview_records_events_as_they_happen(file: Path, home: Path) -> None:
    """A kill at any time loses none of them."""
    events: list[tuple[str, dict[str, Any]]] = []
    practice = Practice(file, home, sitting=sitting(events), **INTERVIEW)
    practice.model.begin()
    practice.save("wrong")
    practice.clock.now += 1
    practice.save("wrong 2")
    practice.press("hint", "why", "why")
    assert practice.model.record.result("next").graded == "wrong 2"
    assert [name for name, _ in events] == [
        "StageAttempted",
        "StageReplaced",
        "StageAttempted",
        "StageHinted",
        "MistakeShown",
        "StageLeft",
    ]
    assert events[-1][1] == {"seconds": 301.0}


def test_interview_without_a_grader_grades_nothing(file: Path, home: Path) -> None:
    """A save is confirmed, and keys that need a verdict say why they do nothing."""
    practice = Practice(file, home, sitting=sitting(), is_graded=False, **INTERVIEW)
    practice.model.begin()
    practice.write("wrong")
    assert practice.model.status == "Saved; the verdict comes when you hand in (n)."
    for name in ("again", "why", "trace"):
        assert "before you hand in" in practice.model.refusal(name)
    assert practice.grades == []
    assert counted_attempts(Journal(home).facts()) == []
