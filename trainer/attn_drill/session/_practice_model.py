"""Decide what keys, saves and replies mean in a practice session. Knows no screen."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from rich.console import RenderableType

from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError, PackError
from attn_drill.model.report import Lesson, Report, Trace
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.question_bank import FollowUp, follow_ups
from attn_drill.packs.stub_levels import Level
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import read_source, write_afresh
from attn_drill.practice.progress import counted_attempts
from attn_drill.practice.schedule import next_steps
from attn_drill.report import lesson_text
from attn_drill.report.terminal import VERDICTS
from attn_drill.report.wording import Stage, next_stage, sentence, visible
from attn_drill.server import messages
from attn_drill.session._session_record import (
    Clock,
    SessionRecord,
    SessionRequest,
    clock_text,
)

_SEARCHING = "Looking for the cause …"
_DOCTOR = "`attn-drill doctor` shows more; q leaves."
_HELP_COSTS = "It costs a quarter of this problem's points for work without help."
_WHY_LABELS: dict[Stage | None, str] = {
    "line": "the line",
    "question": "a question",
    "cause": "the mistake",
}
_MOST_ATTEMPTS, _MOST_MISTAKES = 4, 5  # on the pages after a pass

Page = Literal["report", "trace", "answers", "questions"]
# The phases of a session, each with its own line of keys.
Phase = Literal["writing", "failed", "passed", "question", "interview"]


@dataclass(frozen=True)
class Action:
    """An action of the session, and its key."""

    name: str
    key: str
    label: str
    explains: str
    # The keys as Textual names them, if they differ from `key`.
    bound: str = ""


ACTIONS = {
    action.name: action
    for action in (
        Action("edit", "e", "edit", "opens the file in your editor (VISUAL or EDITOR)"),
        Action("again", "r", "grade again", "grades the file once more, on fresh cases"),
        Action("hint", "h", "hint", "shows the next hint below the task"),
        Action("why", "w", "why", "shows more: the line, then a question, then the mistake"),
        Action("trace", "t", "trace", "shows the result of every line, or the report again"),
        Action("next", "n", "next", "goes on; in an interview, hands the file in first"),
        Action("answers", "o", "other answers", "after a pass: other right answers, page by page"),
        Action("questions", "f", "questions", "after a pass: the follow-up questions"),
        Action("reveal", "enter", "show the answer", "shows the answer to the open question"),
        Action(
            "rate",
            "1-4",
            "again, hard, good, easy",
            "rates your answer to a question, or changes the grade of a pass",
            "1,2,3,4",
        ),
        Action("pane", "tab", "task", "shows the task or the report; arrows scroll it"),
        Action("reset", "x", "fresh stub", "writes a fresh stub and keeps your file"),
        Action("shade", "d", "dark or light", "changes between dark and light colours"),
        Action("help", "?", "keys", "shows this list", "question_mark"),
        Action("leave", "q", "leave", "leaves; Esc first closes an open page", "q,ctrl+q"),
    )
}
_LAST = ("help", "leave")
_MOST_SHOWN = 5
# The keys of each phase. The first that does something is the next step.
_ORDER: dict[Phase, tuple[str, ...]] = {
    "writing": ("edit", "hint", "pane", "again"),
    "failed": ("why", "edit", "trace", "hint", "pane"),
    "passed": ("next", "answers", "questions", "edit"),
    "question": ("reveal", "rate", "questions"),
    "interview": ("next", "why", "hint", "pane", "edit"),
}


@dataclass(frozen=True)
class Ended:
    """A grading process has ended, with this last line on stderr. After the last, none follows."""

    last_words: str
    is_last: bool


@dataclass(frozen=True)
class AnswerPage:
    """A page of the other answers."""

    title: str
    render: Callable[[int], RenderableType]  # at a width


@dataclass
class AfterPass:
    """The state after a pass."""

    challenge: Challenge
    source: str
    # Progress, the next challenges, the next review and the grade in one line.
    next_line: str
    questions: tuple[FollowUp, ...]
    lesson: Lesson | None = None  # None while it is measured
    page_index: int = 0
    question_index: int = 0
    is_revealed: bool = False
    ratings: dict[int, int] = field(default_factory=dict)  # by the index of the question

    def pages(self, journal: Journal) -> list[AnswerPage]:
        """Return the pages: the reference, other right answers, mistakes, the last attempts.

        The files of the pack are read only now, because the learner has passed. If they are broken,
        the page of the attempts is left.
        """
        attempts = [
            attempt
            for attempt in counted_attempts(journal.facts(subject=self.challenge.id))
            if attempt.purpose != "hunt"
        ]
        pages: list[AnswerPage] = []
        lesson = self.lesson or Lesson(is_measured=False)
        try:
            for answer in lesson.others or pack_reader.other_answers(self.challenge):
                render = partial(lesson_text.render_answer, answer, self.source, lesson.cost)
                pages.append(AnswerPage(lesson_text.name_in_words(answer), render))
            counts = Counter(name for attempt in attempts for name in attempt.mistakes)
            pages.append(_mistakes_page(self.challenge, counts))
        except PackError:
            pass
        sources: list[tuple[str, str]] = []
        for attempt in attempts:
            if not sources or sources[-1][1] != attempt.source:
                when = time.strftime("%Y-%m-%d %H:%M", time.localtime(attempt.at))
                sources.append((f"{attempt.verdict} {when}", attempt.source))
        render_last = partial(lesson_text.render_attempts, sources[-_MOST_ATTEMPTS:])
        return [*pages, AnswerPage("your last attempts", render_last)]

    @property
    def question(self) -> FollowUp | None:
        """The question that is shown; None after the last question."""
        if self.question_index < len(self.questions):
            return self.questions[self.question_index]
        return None

    def rate(self, rating: int, journal: Journal, now: float) -> None:
        """Record the own rating of the answer, 1 to 4, and go on to the next question."""
        if self.question is not None:
            item = self.question.item
            journal.add(Reviewed(item, now, rating=rating, reason="own rating"))
            self.ratings[self.question_index] = rating
            self.question_index, self.is_revealed = self.question_index + 1, False


def after_pass(
    challenge: Challenge,
    source: str,
    next_line: str,
    language: str,
    earlier: AfterPass | None = None,
) -> AfterPass:
    """Return the state after a pass. It goes on with the questions of an earlier pass."""
    if earlier is not None:
        return replace(earlier, source=source, next_line=next_line, lesson=None, page_index=0)
    try:
        questions = tuple(entry for entry in follow_ups(challenge, language) if entry.answer)
    except PackError:
        questions = ()
    return AfterPass(challenge, source, next_line, questions)


def _mistakes_page(challenge: Challenge, counts: Counter[str]) -> AnswerPage:
    """Return the learner's own mistakes, and known mistakes of the challenge."""
    says = {mistake.id: mistake.says for mistake in read_mistakes(challenge)}
    own_mistakes = [(says[name], count) for name, count in counts.most_common() if name in says]
    others = [words for name, words in says.items() if name not in counts]
    # Neighbours in the file are variants of each other, so take mistakes from the whole file.
    others = others[:: max(1, len(others) // _MOST_MISTAKES)]
    content = lesson_text.render_mistakes(own_mistakes[:_MOST_MISTAKES], others[:_MOST_MISTAKES])
    return AnswerPage("mistakes", lambda width: content)


class PracticeModel:
    """The state of one session. `send` sends a request to the grader."""

    def __init__(
        self,
        request: SessionRequest,
        journal: Journal,
        send: Callable[[messages.Request], None],
        wall: Clock = time.time,
        clock: Clock = time.monotonic,
    ) -> None:
        self.request, self.journal = request, journal
        self.record = SessionRecord(request, journal, wall, clock)
        self._send, self._wall = send, wall
        self.has_begun = request.sitting is None  # the opening page is closed
        self.is_warm = False  # the grader is ready
        self.is_searching = False  # the verdict is there, and its cause is looked for
        self.is_wide = False  # the screen shows both panes
        self.stage = request.stage  # of the report
        self.status = "The grader is starting …"
        self._request_id = 0  # of the last request for a verdict
        self._is_requested = False  # the learner made the last request with a key
        self._clear()

    def _clear(self) -> None:
        self.report: Report | None = None  # with the last verdict
        self.source: str | None = None  # that `report` is about
        self.unfinished: Report | None = None  # on the current text
        self.trace: Trace | None = None
        self.after: AfterPass | None = None
        self.page: Page = "report"
        # The pane that a narrow screen shows. On a wide screen, the arrow keys scroll it.
        self.front: Literal["task", "report"] = "task"
        self.is_grading = False
        self._sent_source: str | None = None  # graded last, or being graded

    @property
    def file_name(self) -> str:
        return self.request.path.name

    @property
    def seconds_left(self) -> float:
        """The time left of the whole interview; 0 outside an interview."""
        sitting, request = self.request.sitting, self.request
        if sitting is None:
            return 0.0
        return sitting.seconds_left - (self.record.stopwatch.seconds - request.seconds_before)

    @property
    def state_text(self) -> str:
        if self.is_grading:
            return "grading …"
        if self.unfinished is not None:
            reason = self.unfinished.unfinished.partition(",")[0]
            return "not finished" if reason.startswith("is not finished") else reason
        if self.report is None:
            return "not graded yet"
        statuses = list(self.report.statuses().values())
        return f"{VERDICTS[self.report.verdict]} {statuses.count('passed')}/{len(statuses)}"

    # Saves

    def begin(self) -> None:
        """Start the clock after the opening page of an interview."""
        self.has_begun = True
        self.record.stopwatch.start()
        self.look()

    def look(self, *, is_requested: bool = False) -> None:
        """Grade the current text of the file. A text that is still being graded is superseded.

        A stub, and the text that was graded last, are graded only if a key requested it.
        """
        request = self.request
        if not self.has_begun:
            return
        try:
            source = read_source(request.path)
            is_stub = source == request.untouched or pack_reader.is_stub(request.challenge, source)
        except DrillError as error:
            self.status = str(error)
            return
        if source != self.source:
            self.record.take_back()
        is_new = source != self._sent_source
        if not request.is_graded:
            if is_new and not is_stub:
                self.record.stopwatch.touch()
                self.status = "Saved; the verdict comes when you hand in (n)."
            self._sent_source = source
        elif self.is_warm and is_stub and not is_requested:
            self._sent_source = None  # the next save is graded, even with a text graded before
        elif self.is_warm and (is_new or is_requested):
            self.record.stopwatch.touch()
            self._request_id += 1
            self._is_requested, self._sent_source = is_requested, source
            self.is_grading = True
            self.status = "Your file is graded once more, on fresh cases." if is_requested else ""
            grade = messages.Grade(
                request.challenge.id,
                Submission(self.file_name, source),
                id=self._request_id,
                is_early_wanted=True,
                planted=request.hunted,
            )
            self._send(grade)

    # Replies

    def reply(self, reply: messages.Reply | Ended) -> None:
        """Take a reply of the grader. A reply to an earlier request is ignored."""
        is_current = getattr(reply, "id", 0) in (0, self._request_id)
        match reply:
            case Ended(last_words=words, is_last=is_last):
                self.is_warm = self.is_grading = False
                self._sent_source = None  # the next process grades the file again
                reason = f" ({words})" if words else ""
                self.status = f"The grading process ended{reason}; another one starts."
                if is_last:
                    self.status = f"The grading process keeps ending{reason}. {_DOCTOR}"
            case messages.Ready():
                self.is_warm = True
                if self.request.is_graded:
                    self.status = f"Every save of {self.file_name} is graded."
                    self.look()
                else:
                    self.status = "Nothing is graded before you hand in (n)."
            case messages.Verdict(report=report, is_final=is_final) if is_current:
                self._take_verdict(report, is_final=is_final)
            case messages.Traced(trace=trace) if is_current:
                self.trace = trace
                self._show("trace")
                self._ask_for_lesson()  # the trace has ended a measurement
            case messages.Taught(lesson=lesson) if is_current and self.after is not None:
                self.after.lesson = lesson
            case messages.Refused(sentence=words) if is_current:
                if self.after is not None and self.after.lesson is None and not self.is_grading:
                    self.after.lesson = Lesson(is_measured=False)
                self.is_grading = False
                self.status = words

    def _take_verdict(self, report: Report, *, is_final: bool) -> None:
        """Record a verdict. So every verdict on the screen is in the journal."""
        is_first, self.is_grading = self.is_grading, False
        self.is_searching = not is_final
        if report.unfinished:  # this is no attempt
            self.unfinished = report
            again = "Graded once more: " if self._is_requested else ""
            self.status = (
                f"{again}{self.file_name} {visible(report.unfinished)}; this does not count."
            )
            if is_first:
                self._ask_for_lesson()  # this grading has ended a measurement
            return
        self.report, self.unfinished = report, None
        self.status = "" if is_final else _SEARCHING
        if is_first:
            self.source = self._sent_source or ""
            self.record.add_attempt(report, self.source, is_requested=self._is_requested)
            self.stage, self.front = self.request.stage, "report"
            if report.verdict != "passed" or self.page != "questions":
                self.page = "report"
        if is_final:
            self.record.add_diagnosis(report)
            if report.verdict == "passed" and self.request.purpose in ("practice", "review"):
                self._begin_lesson(self.source or "")

    def _begin_lesson(self, source: str) -> None:
        earlier = self.after
        if earlier is None or earlier.source != source:
            request, now = self.request, self._wall()
            seconds = self.record.stopwatch.seconds
            clock = f"{clock_text(seconds)} of {clock_text(request.par_seconds)}"
            # The grade has its own line.
            shown = "" if self.record.grade_text else clock
            line = next_steps(request.challenge, request.challenges, self.journal, now, shown)
            self.after = after_pass(request.challenge, source, line, request.language, earlier)
        self._ask_for_lesson()

    def _ask_for_lesson(self) -> None:
        """Let the grader measure the answer, unless the lesson is there."""
        if self.after is None or self.after.lesson is not None or self.report is None:
            return
        answer, seed = Submission(self.file_name, self.after.source), self.report.seed or 0
        self._send(messages.Teach(self.request.challenge.id, answer, seed, id=self._request_id))

    # Keys

    @property
    def phase(self) -> Phase:
        if self.request.sitting is not None:
            return "interview"
        if self._is_question_shown:
            return "question"
        if self.report is None:
            return "writing"
        return "passed" if self.report.verdict == "passed" else "failed"

    @property
    def _is_question_shown(self) -> bool:
        """True if a follow-up question is on the screen."""
        is_visible = self.page == "questions" and (self.is_wide or self.front == "report")
        return is_visible and self.after is not None and self.after.question is not None

    def shown_keys(self) -> list[tuple[str, str]]:
        """Return at most five keys, each with its label. The first of them is the next step."""
        working = [name for name in _ORDER[self.phase] if not self.refusal(name)]
        names = [*working[: _MOST_SHOWN - len(_LAST)], *_LAST]
        return [(ACTIONS[name].key, self._label(ACTIONS[name])) for name in names]

    def _label(self, action: Action) -> str:
        match action.name:
            case "why" if self.report is not None:
                return _WHY_LABELS.get(next_stage(self.report, self.stage), action.label)
            case "next" if self.request.sitting is not None:
                return "hand in"
            case "answers" if self.page == "answers":
                return "next page"
            case "trace" | "questions" if self.page == action.name:
                return "close"
            case "pane":
                other = "report" if self.front == "task" else "task"
                return f"scroll {other}" if self.is_wide else other
        return action.label

    def refusal(self, name: str) -> str:
        """Return why an action does nothing now, or "" if it does something."""
        report, after, record = self.report, self.after, self.record
        if name in ("again", "why", "trace") and not self.request.is_graded:
            return "Nothing is graded in this interview before you hand in (n)."
        if name in ("why", "trace") and report is None:
            return f"Nothing is graded yet: save your answer in {self.file_name} first."
        match name:
            case "hint" if not record.has_hint:
                return "There is no further hint: all are below the task."
            case "why" if report is not None and report.verdict == "passed":
                return "All checks pass, so there is no mistake to name."
            case "why" if self.is_searching:
                return _SEARCHING
            case "why" if report is not None and next_stage(report, self.stage) is None:
                return "The report shows all that is known; t shows the result of each line."
            case "again" | "trace" if not self.is_warm:
                return "The grader is still starting; it grades your file then."
            case "trace" if report is not None and report.statuses().get("loads") == "failed":
                return "The file could not be loaded, so no line ran; the report says why."
            case "trace" if self.is_grading:
                return "The file is being graded; press t again when the verdict is there."
            case "reset" if self.request.purpose == "hunt":
                return "A hunt has no stub to go back to."
            case "next" if not record.passed and self.request.sitting is None:
                return "The next challenge comes when this one is passed; q leaves."
            case "answers" | "questions" if after is None:
                return "Other answers and the follow-up questions come after the pass."
            case "questions" if after is not None and not after.questions:
                return "The pack has no answers to follow-up questions."
            case "reveal" if not self._is_question_shown or (after and after.is_revealed):
                return "There is no answer to show: f shows the follow-up questions."
            case "rate" if self._is_question_shown and after and not after.is_revealed:
                return "Press Enter first: it shows the answer that you rate."
            case "rate" if not self._is_question_shown and not record.can_overrule:
                return "There is no grade to change: a grade comes with the first pass."
        return ""

    def question(self, name: str) -> str:
        """Return the question that the learner answers before an action, or ""."""
        is_interview = self.request.sitting is not None
        report, hints = self.report, self.record.hints
        match name:
            case "reset":
                fresh = f"a fresh stub of the level {self._fresh_level} to {self.file_name}"
                if self.request.untouched:
                    fresh = f"{self.file_name} as it was handed out"
                return f"Write {fresh}? Your file is kept under another name."
            case "next" if is_interview:
                state = f" It is {self.state_text}." if self.request.is_graded else ""
                return f"Hand in {self.file_name} and go on? You cannot come back to it.{state}"
            case "hint" if is_interview:
                count = len(self.request.challenge.hints)
                return f"Show hint {len(hints) + 1} of {count}? {_HELP_COSTS}"
            case "why" if is_interview and report is not None:
                is_named = next_stage(report, self.stage) == "cause"
                return f"Name the likely mistake? {_HELP_COSTS}" if is_named else ""
        return ""

    @property
    def _fresh_level(self) -> Level:
        return self.request.level or self.record.level

    def press(self, name: str) -> None:
        """Run an action that `refusal` does not refuse. The screen runs the others."""
        match name:
            case "again":
                self.look(is_requested=True)
            case "hint":
                self.record.take_hint()
                self.front = "task"
            case "why" if self.report is not None:
                following = next_stage(self.report, self.stage)
                if following == "cause":
                    self.record.show_mistake()
                self.stage = following or self.stage
                self._show("report")
            case "trace" if self.page == "trace":
                self._show("report")
            case "trace" if self.report is not None:
                self.status = "Tracing …"
                seed, challenge = self.report.seed or 0, self.request.challenge.id
                submission = Submission(self.file_name, self.source or "")
                self._send(messages.TraceLines(challenge, submission, seed, id=self._request_id))
            case "answers" if (after := self.after) is not None:
                after.page_index = after.page_index + 1 if self.page == "answers" else 0
                is_past = after.page_index >= len(after.pages(self.journal))
                self._show("report" if is_past else "answers")
            case "questions":
                self._show("report" if self.page == "questions" else "questions")
            case "reveal" if self.after is not None:
                self.after.is_revealed = True
            case "reset":
                self._reset()
            case "pane":
                self.front = "report" if self.front == "task" else "task"

    def rate(self, rating: int) -> None:
        """Rate the answer to the open question, or give the pass another grade."""
        if self._is_question_shown and self.after is not None:
            self.after.rate(rating, self.journal, self._wall())
            return
        self.record.overrule(rating)
        self.status = sentence(self.record.grade_text)

    def close_page(self) -> bool:
        """Show the report in place of another page. Return False if no page is open."""
        is_open = self.page != "report"
        if is_open:
            self._show("report")
        return is_open

    def _show(self, page: Page) -> None:
        self.page = page
        self.front = "report"
        self.status = ""

    def _reset(self) -> None:
        """Write the file as it was handed out. Keep the old file under another name."""
        request, level = self.request, self._fresh_level
        try:
            text = request.untouched or pack_reader.stub(request.challenge, level)
            old_file = write_afresh(request.path, text)
        except DrillError as error:
            self.status = str(error)
            return
        self.record.restart(level)
        self._request_id += 1  # a verdict on the old text is ignored
        self._clear()
        kept = f" Your old file is kept as {old_file.name}." if old_file else ""
        self.status = f"{self.file_name} is as it was handed out.{kept}"
