"""Decide what keys, saves and replies mean in a practice session. Knows no screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from attn_drill.app.start_challenge import next_steps
from attn_drill.model.challenge import Submission
from attn_drill.model.errors import DrillError
from attn_drill.model.report import Lesson, Report, Trace
from attn_drill.packs import pack_reader
from attn_drill.packs.stub_levels import Level
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import read_source, write_afresh
from attn_drill.report.terminal import VERDICTS
from attn_drill.report.words import Stage, next_stage, sentence, visible
from attn_drill.server.messages import (
    Grade,
    Ready,
    Refused,
    Reply,
    Request,
    Taught,
    Teach,
    Traced,
    TraceLines,
    Verdict,
)
from attn_drill.session._after_pass import AfterPass, after_pass
from attn_drill.session._grading_link import Ended
from attn_drill.session._session_record import Clock, SessionRecord, clock_text
from attn_drill.session.model import Ending, SessionRequest, SessionResult

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


def key_line(phase: Phase, working: set[str]) -> list[Action]:
    """Return at most five of the actions that do something now, the next step first."""
    names = [name for name in _ORDER[phase] if name in working][: _MOST_SHOWN - len(_LAST)]
    return [ACTIONS[name] for name in (*names, *_LAST)]


_SEARCHING = "Looking for the cause …"
_DOCTOR = "`attn-drill doctor` shows more; q leaves."
_WHY_LABELS: dict[Stage | None, str] = {
    "line": "the line",
    "question": "a question",
    "cause": "the mistake",
}
Page = Literal["report", "trace", "answers", "questions"]
_HELP_COSTS = "It costs a quarter of this problem's points for work without help."


class PracticeModel:
    """The state of one session. `send` sends a request to the grader."""

    def __init__(
        self,
        request: SessionRequest,
        journal: Journal,
        send: Callable[[Request], None],
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
            reason = self.unfinished.unfinished
            if reason.startswith("is not finished"):
                return "not finished"
            return reason.partition(",")[0]
        if self.report is None:
            return "not graded yet"
        statuses = list(self.report.statuses().values())
        return f"{VERDICTS[self.report.verdict]} {statuses.count('passed')}/{len(statuses)}"

    def result(self, ending: Ending) -> SessionResult:
        return self.record.result(ending)

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
            grade = Grade(
                request.challenge.id,
                Submission(self.file_name, source),
                id=self._request_id,
                is_early_wanted=True,
                planted=request.hunted,
            )
            self._send(grade)

    # Replies

    def reply(self, reply: Reply | Ended) -> None:
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
            case Ready():
                self.is_warm = True
                if self.request.is_graded:
                    self.status = f"Every save of {self.file_name} is graded."
                    self.look()
                else:
                    self.status = "Nothing is graded before you hand in (n)."
            case Verdict(report=report, is_final=is_final) if is_current:
                self._take_verdict(report, is_final=is_final)
            case Traced(trace=trace) if is_current:
                self.trace = trace
                self._show("trace")
                self._ask_for_lesson()  # the trace has ended a measurement
            case Taught(lesson=lesson) if is_current and self.after is not None:
                self.after.lesson = lesson
            case Refused(sentence=words) if is_current:
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
            self.after = after_pass(request.challenge, source, line, request.language)
            if earlier is not None:
                self.after.go_on_from(earlier)
        self._ask_for_lesson()

    def _ask_for_lesson(self) -> None:
        """Let the grader measure the answer, unless the lesson is there."""
        if self.after is None or self.after.lesson is not None or self.report is None:
            return
        submission = Submission(self.file_name, self.after.source)
        seed = self.report.seed or 0
        self._send(Teach(self.request.challenge.id, submission, seed, id=self._request_id))

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
        """Return the keys to show, each with its label. The first of them is the next step."""
        working = {name for name in ACTIONS if not self.refusal(name)}
        return [(action.key, self._label(action)) for action in key_line(self.phase, working)]

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
        return next((sentence for is_so, sentence in self._refusals(name) if is_so), "")

    def _refusals(self, name: str) -> Iterator[tuple[bool, str]]:
        """Yield the conditions under which an action does nothing, each with its sentence."""
        report, after, request = self.report, self.after, self.request
        if name in ("again", "why", "trace"):
            yield (
                not request.is_graded,
                "Nothing is graded in this interview before you hand in (n).",
            )
        if name in ("why", "trace"):
            nothing = f"Nothing is graded yet: save your answer in {self.file_name} first."
            yield report is None, nothing
        match name:
            case "hint":
                yield not self.record.has_hint, "There is no further hint: all are below the task."
            case "why" if report is not None:
                is_passed = report.verdict == "passed"
                yield is_passed, "All checks pass, so there is no mistake to name."
                yield self.is_searching, _SEARCHING
                nothing = "The report shows all that is known; t shows the result of each line."
                yield next_stage(report, self.stage) is None, nothing
            case "again" | "trace":
                yield not self.is_warm, "The grader is still starting; it grades your file then."
                is_unloaded = report is not None and report.statuses().get("loads") == "failed"
                nothing = "The file could not be loaded, so no line ran; the report says why."
                yield name == "trace" and is_unloaded, nothing
                nothing = "The file is being graded; press t again when the verdict is there."
                yield name == "trace" and self.is_grading, nothing
            case "reset":
                yield request.purpose == "hunt", "A hunt has no stub to go back to."
            case "next":
                is_open = not self.record.passed and request.sitting is None
                yield is_open, "The next challenge comes when this one is passed; q leaves."
            case "answers" | "questions":
                nothing = "Other answers and the follow-up questions come after the pass."
                yield after is None, nothing
                is_empty = after is not None and not after.questions
                nothing = "The pack has no answers to follow-up questions."
                yield name == "questions" and is_empty, nothing
            case "reveal":
                is_open = self._is_question_shown and after is not None and not after.is_revealed
                yield not is_open, "There is no answer to show: f shows the follow-up questions."
            case "rate" if self._is_question_shown and after is not None:
                nothing = "Press Enter first: it shows the answer that you rate."
                yield not after.is_revealed, nothing
            case "rate":
                nothing = "There is no grade to change: a grade comes with the first pass."
                yield not self.record.can_overrule, nothing

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
                self._send(TraceLines(challenge, submission, seed, id=self._request_id))
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
