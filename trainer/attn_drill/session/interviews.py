"""Hold a mock interview: plan it, practise its problems, ask its questions, score it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from attn_drill.app import hunts
from attn_drill.app.grade_file import fresh_seed, record_attempt
from attn_drill.app.open_packs import settings
from attn_drill.app.warn import warn
from attn_drill.exercises import altered_reference
from attn_drill.exercises import interview as planning
from attn_drill.exercises.interview import (
    InterviewPlan,
    InterviewState,
    ScoreSheet,
    Stage,
    StageState,
    score_sheet,
)
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Report
from attn_drill.model.words import plural
from attn_drill.packs import pack_reader
from attn_drill.packs.catalogue import Catalogue
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.question_bank import (
    FollowUp,
    answers_path,
    read_follow_ups,
    without_questions,
)
from attn_drill.practice import facts
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import read_source, write_new
from attn_drill.practice.progress import counted_attempts, rated_reviews, since_start
from attn_drill.practice.schedule import items
from attn_drill.report.lesson_text import render_follow_up
from attn_drill.report.results_text import minutes, render_sheet
from attn_drill.report.wording import WRONG, near
from attn_drill.session._drill_app import KeyLine, run_screen
from attn_drill.session._practice_screen import run_session
from attn_drill.session._session_record import Ending, SessionRequest, SessionResult, Sitting

# Grades a text, with the ids of the mistakes that were planted in it.
Grade = Callable[[Challenge, str, Path, tuple[str, ...]], Report]

SHEET_NAME = "score-sheet.html"
_TIME_IS_UP = "The time is up; you can still answer, and overtime is noted."
_ADVICE = (
    "`attn-drill interview --resume` goes on, `attn-drill interview --sheet` prints a score sheet."
)
_REVEAL = ("enter", "show a model answer")

_GRADED_RULES = """\
Every save of your file is graded.
h shows a hint. w names the likely mistake.
Each costs a quarter of this problem's points for work without help."""
_UNGRADED_RULES = """\
Nothing is graded before you hand in your file. The verdict is on the score sheet.
h shows a hint. It costs a quarter of this problem's points for work without help."""
_DEBUGGING_RULES = """\
The file has {many} in it. Find {them} and repair {them}.
Every save of the file is graded, and the report says how many are left.
h shows a hint. w names a mistake that is left.
Each costs a quarter of this problem's points for work without help."""
_KEY_RULES = """\
n hands in your file and goes on.
q leaves. `attn-drill interview --resume` goes on later, and the pause does not count."""


@dataclass
class Interview:
    """A mock interview. `news` are sentences for the next page."""

    id: str
    began: float  # seconds since the epoch
    plan: InterviewPlan
    questions: Sequence[FollowUp]
    challenges: Mapping[str, Challenge]
    journal: Journal
    events: list[facts.InterviewEvent] = field(default_factory=list)  # in order of time
    news: list[str] = field(default_factory=list)
    wall: Callable[[], float] = time.time
    clock: Callable[[], float] = time.monotonic

    @property
    def state(self) -> InterviewState:
        return planning.state_of(self.plan, self.events)

    @property
    def seconds_left(self) -> float:
        """The time left of the whole interview; negative if its time is up."""
        return self.plan.seconds - self.state.seconds

    def record(self, subject: str, kind: type[facts.InterviewEvent], **values: Any) -> None:
        """Add an event, with the values that only its kind has, here and in the journal."""
        # The journal returns events in order of time, whatever the clock of the machine does.
        at = max([self.wall(), *(event.at for event in self.events)])
        event = kind(subject=subject, at=at, interview=self.id, **values)
        self.events.append(event)
        self.journal.add(event)

    def rate(self, question: FollowUp, rating: int, seconds: float) -> None:
        """Record the learner's own rating of an answer, as an event and as a review."""
        self.record(question.item, facts.QuestionAnswered, seconds=seconds, rating=rating)
        self.journal.add(
            facts.Reviewed(question.item, self.wall(), rating=rating, reason="own rating")
        )

    def finish(self) -> None:
        self.record("", facts.InterviewFinished)

    def is_recorded(self) -> bool:
        return len(recorded_events(self.journal, self.id)) == len(self.events)

    def challenge(self, index: int) -> Challenge:
        return self.challenges[self.plan.stages[index].challenge]

    def path(self, index: int) -> Path:
        return Path(self.plan.folder) / self.challenge(index).file_name

    def handed_out(self, index: int) -> str:
        """Return the text with which a stage begins: a stub, a broken or a repaired file."""
        challenge = self.challenge(index)
        if not index or not self.plan.stages[index - 1].bugs:
            return first_text(challenge, self.plan.stages[index])
        before, repaired = self.challenge(index - 1), self.state.stages[index - 1]
        code = repaired.code
        if code is None or repaired.result is None or repaired.result.verdict != "passed":
            code = altered_reference.strip_comments(pack_reader.solution(before))
        return hunts.continued(before, challenge, code)


def first_text(challenge: Challenge, stage: Stage) -> str:
    """Return the text of the first stage: a stub, or a reference with bugs."""
    if not stage.bugs:
        return pack_reader.stub(challenge)
    mistakes = altered_reference.mistakes_by_ids(challenge, stage.bugs)
    if mistakes is None:
        raise DrillError(
            f"{challenge.id} no longer has the bugs {', '.join(stage.bugs)} of this interview. "
            "Begin another interview with `attn-drill interview --fresh`."
        )
    return altered_reference.hunt_file_text(challenge, mistakes, with_commands=False)


def recorded_events(journal: Journal, interview: str) -> list[facts.InterviewEvent]:
    """Return the events of an interview that the journal has, in order of time."""
    return [fact for fact in journal.facts(*facts.INTERVIEW_EVENTS) if fact.interview == interview]


def last_interview(journal: Journal, catalogue: Catalogue) -> Interview | None:
    """Return the last interview, or None if there is none or this version cannot read it."""
    entry = journal.last(facts.InterviewBegan)
    plan = planning.plan_from(entry.plan) if entry is not None else None
    if entry is None or plan is None:
        return None
    return _interview(journal, catalogue, entry.id, entry.at, plan)


def _interview(
    journal: Journal, catalogue: Catalogue, name: str, began: float, plan: InterviewPlan
) -> Interview:
    questions, _ = read_follow_ups(tuple(catalogue.challenges), settings().language)
    asked = planning.planned_questions(plan, questions)
    by_id = {challenge.id: challenge for challenge in catalogue.challenges}
    return Interview(name, began, plan, asked, by_id, journal, recorded_events(journal, name))


def plan_interview(
    journal: Journal,
    catalogue: Catalogue,
    minutes: int,
    topic: str | None,
    bugs: int,
    is_graded: bool = True,
) -> InterviewPlan:
    """Return the plan of an interview, without its folder. With bugs, it is a debugging round."""
    challenges = catalogue.challenges
    mains = planning.main_problems(challenges, topic)
    questions, troubles = read_follow_ups(tuple(challenges), settings().language)
    warn(troubles)
    now, seed, recorded = time.time(), fresh_seed(), journal.facts()
    reviewed = items(rated_reviews(recorded), now)
    familiarity = planning.familiarity(counted_attempts(recorded), reviewed, now)
    mistakes: tuple[Mistake, ...] = ()
    if bugs:
        challenge = hunts.debugging_challenge(mains, challenges, topic)
        mistakes = hunts.choose_bugs(challenge, bugs, (), seed)
        chosen: planning.Choice = {"debugging": challenge}
        follow_ups = hunts.follow_ups_of(challenge, challenges)
        chosen |= zip(planning.FOLLOW_UPS, follow_ups, strict=False)
    else:
        chosen = planning.choose_problems(challenges, minutes, mains, familiarity, seed)
    ids = tuple(mistake.id for mistake in mistakes)
    plan = planning.make_plan(chosen, questions, minutes, familiarity, seed, ids)
    return replace(plan, is_graded=is_graded)


def begun(
    journal: Journal, catalogue: Catalogue, plan: InterviewPlan, folder: Path | None
) -> Interview:
    """Write the first file and record the interview. By default it gets a new folder."""
    now = time.time()
    place, suffix = folder, 2
    if place is None:
        name = time.strftime("interview-%Y-%m-%d", time.localtime(now))
        place = Path(name)
        while os.path.lexists(place):
            place, suffix = Path(f"{name}-{suffix}"), suffix + 1
    by_id = {challenge.id: challenge for challenge in catalogue.challenges}
    problems = [by_id[stage.challenge] for stage in plan.stages]
    for name in [*(problem.file_name for problem in problems), SHEET_NAME]:
        if os.path.lexists(place / name):
            raise DrillError(
                f"{place / name} already exists and is left unchanged. "
                "Choose another folder with --dir."
            )
    write_new(place / problems[0].file_name, first_text(problems[0], plan.stages[0]))
    plan = replace(plan, folder=str(place.resolve()))
    name = journal.add(facts.InterviewBegan("", now, plan=asdict(plan)))
    run = _interview(journal, catalogue, name, now, plan)
    entry = journal.last(facts.InterviewBegan)
    if entry is None or entry.id != run.id:
        run.news.append(
            "The journal cannot be written: this interview works, but it cannot be resumed."
        )
    return run


def resumed(last: Interview | None) -> Interview:
    """Return the last interview, or raise a DrillError if none is under way or it cannot go on."""
    if last is None or last.state.finished:
        raise DrillError("No interview is under way. `attn-drill interview` begins an interview.")
    for stage in last.plan.stages:
        if stage.challenge not in last.challenges:
            raise DrillError(
                f"The interview under way has the challenge {stage.challenge}, which no pack has "
                "any more. Begin another interview with `attn-drill interview --fresh`."
            )
    last.news.append(
        f"The interview goes on. {minutes(last.state.seconds)} of {last.plan.minutes}:00 min are "
        "spent; the pause does not count."
    )
    return last


def solve_problems(run: Interview, roots: tuple[Path, ...], language: str, grade: Grade) -> Ending:
    """Show the problems one after the other. Return "next" after the last problem."""
    ending: Ending = "next"
    while ending == "next" and (index := run.state.stage) is not None:
        ending = _Problem(run, index).solve(roots, language, grade)
    return ending


class _Problem:
    """A problem that is handed out, practised, and handed in if the learner goes on."""

    def __init__(self, run: Interview, index: int) -> None:
        self.run, self.index = run, index
        self.stage = run.plan.stages[index]
        self.challenge = run.challenge(index)
        self.path = run.path(index)
        self.handed_out = run.handed_out(index)
        # A repaired file is no answer from memory.
        self.purpose: facts.Purpose = "hunt" if self.stage.bugs else "interview"

    @property
    def state(self) -> StageState:
        return self.run.state.stages[self.index]

    def solve(self, roots: tuple[Path, ...], language: str, grade: Grade) -> Ending:
        run, bugs = self.run, self.stage.bugs
        opening = self._opening(self._hand_out())
        prompt = pack_reader.prompt(self.challenge, language)
        if answers_path(self.challenge).exists():  # the interview asks the questions at its end
            prompt = without_questions(prompt)
        if bugs:
            prompt = hunts.hunt_task(self.challenge, self.path.name, len(bugs)) + prompt
        record = partial(run.record, self.challenge.id)
        count = len(run.plan.stages)
        request = SessionRequest(
            self.challenge,
            self.path,
            prompt,
            self.state.seconds,
            # The clock of the session includes the seconds before, so the limit includes them too.
            planning.allowed_seconds(run.plan, run.state, self.index),
            stage="where" if bugs else "line",  # to find the lines is the task of a hunt
            purpose=self.purpose,
            packs=roots,
            is_graded=run.plan.is_graded,
            sitting=Sitting(self.index + 1, count, run.seconds_left, opening, record),
            untouched=self.handed_out,
            hunted=bugs,
        )
        result = run_session(request, run.journal)
        if result.ending == "next":
            try:
                self._hand_in(result, grade)
            except KeyboardInterrupt:
                return "interrupted"
        return result.ending

    def _hand_out(self) -> str:
        """Write the file, unless it is there. Return a sentence about it."""
        if self.path.is_dir():
            raise DrillError(
                f"{self.path} is a folder, but the file of the problem needs this name. Move the "
                "folder away. Then `attn-drill interview --resume` goes on."
            )
        if not self.path.exists():
            write_new(self.path, self.handed_out)
        if not self.state.begun:
            self.run.record(self.challenge.id, facts.StageBegan)
        shown = near(self.path)
        try:
            is_changed = read_source(self.path) != self.handed_out
        except DrillError:  # the session says why it cannot be graded
            is_changed = True
        if is_changed:
            return f"{shown} is your file. It is left unchanged."
        if self.stage.bugs:
            return f"{shown} is the file to repair."
        if self.index and self.run.plan.stages[self.index - 1].bugs:
            return f"{shown} is the repaired file. Continue with it."
        return f"{shown} is the stub. Write your answer there."

    def _opening(self, file_sentence: str) -> str:
        """Return the opening page: the file, the time left, all problems, the rules."""
        plan, seconds_left = self.run.plan, self.run.seconds_left
        time_left = f"The {plan.minutes} minutes are over. You can go on, and overtime is noted."
        if seconds_left > 0:
            left = f"{minutes(seconds_left)} of {plan.minutes}:00 min are left"
            time_left = f"The whole interview: {left}."
        lines = []
        for index, stage in enumerate(plan.stages):
            # The title of a later problem would give that problem away.
            title = f": {self.run.challenge(index).title}" if index <= self.index else ""
            lines.append(f"  {index + 1}. {stage.role}{title}, {_rounded(stage.seconds)}")
        if plan.questions:
            questions = plural(len(plan.questions), "question")
            lines.append(f"  then {questions}, {_rounded(plan.question_seconds)}")
        rules = _GRADED_RULES if plan.is_graded else _UNGRADED_RULES
        if plan.is_graded and self.stage.bugs:
            many, them = altered_reference.in_words(len(self.stage.bugs))
            rules = _DEBUGGING_RULES.format(many=many, them=them)
        place = f"Problem {self.index + 1} of {len(plan.stages)}, {self.stage.role}"
        paragraphs = [
            f"{place}: {self.challenge.title}.\n{file_sentence}",
            f"{self._time()}\n{time_left}\nThe clock starts when you press Enter.",
            "\n".join(lines),
            f"{rules}\n{_KEY_RULES}",
            *self.run.news,
        ]
        self.run.news.clear()
        return "\n\n".join(paragraphs)

    def _time(self) -> str:
        """Return a sentence: the planned time, the time carried over, and the time left."""
        spent = self.state.seconds
        carried = planning.carried_seconds(self.run.plan, self.run.state, self.index)
        allowed = self.stage.seconds + carried
        before = "the problem before" if self.index == 1 else "the problems before"
        words = f"This problem: {minutes(allowed)} min"
        if abs(carried) >= 1:
            words += f". {minutes(self.stage.seconds)} were planned, {minutes(abs(carried))} "
            words += f"are left from {before}" if carried > 0 else f"went to {before}"
        if spent:
            left = f"{minutes(allowed - spent)} are left" if allowed > spent else "they are over"
            words += f". {minutes(spent)} are spent, {left}"
        return f"{words}."

    def _hand_in(self, result: SessionResult, grade: Grade) -> None:
        """End the problem. Grade the file if it changed after its last verdict."""
        journal, name = self.run.journal, self.path.name
        record = partial(self.run.record, self.challenge.id, seconds=result.seconds)
        code: str | None = None
        note = ""
        try:
            code = read_source(self.path)
        except DrillError as error:
            reason = error if self.path.exists() else f"{name} was gone."
            note = f"Nothing was handed in: {reason}"
        if code == self.handed_out:
            kind = "stub" if code == pack_reader.stub(self.challenge) else "file"
            code, note = None, f"Nothing was handed in: {name} is the unchanged {kind}."
        if code is not None and code != result.graded:  # the time for this does not count
            try:
                report = grade(self.challenge, code, self.path, self.stage.bugs)
            except (DrillError, GraderError) as error:
                note = f"Your file could not be graded: {error}"
            else:
                now, seconds = self.run.wall(), result.seconds
                record_attempt(journal, self.challenge, report, code, self.purpose, now, seconds)
                record(facts.StageAttempted, **planning.values_of_attempt(report))
        since = since_start(journal.facts(subject=self.challenge.id), in_interview=True)
        if since.hint > self.state.hints:  # from `attn-drill hint` in another window
            record(facts.StageHinted, level=since.hint)
        record(facts.StageEnded, code=code, note=note, reference_seen=since.solution)
        if note:
            self.run.news.append(note)


def _rounded(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min"


def ask_and_score(interview: Interview, score: Callable[[], ScoreSheet]) -> Ending:
    """Ask the open questions, then show the score sheet. Return "next" if the sheet was shown."""
    screen = EndScreen(interview, score)
    ending = run_screen(screen, _ADVICE)
    return ending if ending is not None else screen.ended("interrupted")


class EndScreen(Screen[Ending]):
    """The questions, each with its model answer and the learner's own rating, then the sheet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "reveal", show=False),
        *(Binding(str(rating), f"rate({rating})", show=False) for rating in range(1, 5)),
        Binding("escape,q", "leave", show=False),
    ]

    def __init__(self, interview: Interview, score: Callable[[], ScoreSheet]) -> None:
        super().__init__()
        self.interview, self.score = interview, score
        self.sheet: ScoreSheet | None = None
        # The question that is shown; None when all are answered.
        self.question: FollowUp | None = None
        self.is_revealed = False  # its model answer is shown
        self.status = " ".join(interview.news)
        interview.news.clear()
        self._began = interview.clock()
        self._seconds_before = interview.state.question_seconds

    def compose(self) -> ComposeResult:
        yield Static(id="top", markup=False)
        with VerticalScroll(id="questions"):
            yield Static(id="text", markup=False)
        yield Static(id="status", markup=False)
        yield KeyLine([])

    def on_mount(self) -> None:
        self.set_interval(1.0, self._draw_top)
        self._next()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    @property
    def seconds(self) -> float:
        """The seconds spent on the questions so far."""
        return self._seconds_before + self.interview.clock() - self._began

    def _next(self) -> None:
        """Show the next open question, or the score sheet."""
        rated = self.interview.state.ratings
        waiting = [each for each in self.interview.questions if each.item not in rated]
        self.question = waiting[0] if waiting else None
        self.is_revealed = False
        if self.question is None:
            self.sheet = self.score()
            for name in ("#top", "#status"):
                self.query_one(name).display = False
        self._draw()

    def _draw(self) -> None:
        text, keys = self.query_one("#text", Static), self.query_one(KeyLine)
        if self.sheet is not None:
            text.update(render_sheet(self.sheet, max(20, self.app.size.width - 4)))
            keys.show([("q", "leave"), ("↑↓", "scroll")])
        if self.question is None:
            return
        challenge = self.interview.challenges.get(self.question.challenge)
        title = self.question.challenge if challenge is None else challenge.title
        text.update(render_follow_up(self.question, title, is_revealed=self.is_revealed))
        step = ("1-4", "again, hard, good, easy") if self.is_revealed else _REVEAL
        keys.show([step, ("↑↓", "scroll"), ("q", "leave")])
        self._draw_top()

    def _draw_top(self) -> None:
        if self.question is None or not self.is_running:
            return
        interview = self.interview
        seconds_left = interview.seconds_left + interview.state.question_seconds - self.seconds
        is_over = seconds_left < 0
        time = f"{minutes(-seconds_left)} over" if is_over else f"{minutes(seconds_left)} left"
        style = f"bold {WRONG}" if is_over else "bold"
        number = interview.questions.index(self.question) + 1
        place = f"Question {number} of {len(interview.questions)}"
        self.query_one("#top", Static).update(Text(f"{place} · {time}", style))
        late = _TIME_IS_UP if is_over else ""
        sentences = filter(None, [self.status, late, interview.journal.trouble])
        self.query_one("#status", Static).update(Text(" ".join(sentences)))

    def action_reveal(self) -> None:
        if self.question is None:
            return
        self.status = "Rate your own answer with 1, 2, 3 or 4." if self.is_revealed else ""
        self.is_revealed = True
        self._draw()

    def action_rate(self, rating: int) -> None:
        if self.question is None:
            return
        if not self.is_revealed:
            self.status = "Press Enter first: you rate your answer after the model answer."
            self._draw()
            return
        self.interview.rate(self.question, rating, self.seconds)
        self.status = ""
        self.query_one("#questions").scroll_home(animate=False)
        self._next()

    def action_leave(self) -> None:
        self.dismiss(self.ended("quit"))

    def ended(self, ending: Ending) -> Ending:
        """Return "next" after the score sheet, else record the time and return the ending."""
        if self.sheet is not None:
            return "next"
        self.interview.record("", facts.QuestionsLeft, seconds=self.seconds)
        return ending


def sheet_of(run: Interview) -> ScoreSheet:
    """Return the score sheet. A challenge that no pack has any more gets no reference on it."""
    references: dict[str, str] = {}
    mistakes: dict[str, str] = {}
    for stage in run.plan.stages:
        if (problem := run.challenges.get(stage.challenge)) is None:
            continue
        references[problem.id] = pack_reader.solution(problem)
        if stage.bugs:
            mistakes |= {mistake.id: mistake.says for mistake in read_mistakes(problem)}
    return score_sheet(
        run.plan, run.state, run.challenges, references, run.questions, run.began, mistakes
    )
