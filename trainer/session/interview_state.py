"""A mock interview under way: hand out its problems in the session's screen, and take them in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trainer.interview.plan import InterviewPlan
from trainer.interview.state import Event, InterviewState, allowed_seconds, attempt_data, state_of
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.model.report import Report
from trainer.packs import pack_reader
from trainer.practice.journal import Journal
from trainer.practice.learner_files import read_source, write_new
from trainer.practice.record_attempt import record_diagnosis, write_attempt
from trainer.quiz.drawn_questions import DrawnQuestion
from trainer.report.score_sheet import minutes
from trainer.session.model import SessionRequest, SessionResult, Sitting
from trainer.session.run_session import run_session

How = Literal["next", "quit", "interrupted"]
Grade = Callable[[Challenge, str, Path], Report]

_RULES = """\
Every save of your file is graded.
h shows a hint and w names the likely mistake: each costs a quarter of this problem's points for \
work without help.
n hands in your file and goes on to the next stage.
q leaves: `attn-drill interview --resume` goes on, and the pause does not count."""


@dataclass
class Interview:
    """A mock interview under way.

    began        seconds since the epoch
    asked        the questions, in their order
    challenges   all known challenges by id
    events       everything that happened, in order; the journal has the same
    news         sentences that the next page shows
    wall         seconds since the epoch; `clock`: seconds that only go forwards
    """

    id: str
    began: float
    plan: InterviewPlan
    asked: Sequence[DrawnQuestion]
    challenges: Mapping[str, Challenge]
    journal: Journal
    events: list[Event] = field(default_factory=list)
    news: list[str] = field(default_factory=list)
    wall: Callable[[], float] = time.time
    clock: Callable[[], float] = time.monotonic

    @property
    def state(self) -> InterviewState:
        """Return the state after all events."""
        return state_of(self.plan, self.events)

    @property
    def seconds_left(self) -> float:
        """Return the time left of the whole interview; below 0 if it is over."""
        return self.plan.seconds - self.state.seconds

    def record(self, kind: str, **data: Any) -> None:
        """Keep an event, here and in the journal."""
        at = self.wall()
        self.events.append((at, kind, data))
        self.journal.record_event(self.id, at, kind, data)

    def is_kept(self) -> bool:
        """Return whether the journal has all events."""
        return len(self.journal.events(self.id)) == len(self.events)

    def challenge(self, index: int) -> Challenge:
        """Return the problem of a stage."""
        return self.challenges[self.plan.stages[index].challenge]

    def path(self, index: int) -> Path:
        """Return the learner's file of a stage."""
        return Path(self.plan.folder) / self.challenge(index).file_name


def solve_problems(run: Interview, roots: tuple[Path, ...], language: str, grade: Grade) -> How:
    """Show problem after problem. Return "next" after the last one.

    Args:
        roots: the folders of all known packs.
        grade: grades the text of a file that is handed in.
    """
    how: How = "next"
    while how == "next" and (index := run.state.stage) is not None:
        how = _solve(run, index, roots, language, grade)
    return how


def _solve(run: Interview, index: int, roots: tuple[Path, ...], language: str, grade: Grade) -> How:
    """Show a problem until the learner leaves; hand it in if the learner goes on."""
    challenge, path = run.challenge(index), run.path(index)
    opening = _opening(run, index, _hand_out(run, index))
    given = SessionRequest(
        challenge,
        path,
        pack_reader.prompt(challenge, language),
        run.state.stages[index].seconds,
        # The clock of the session counts the seconds before, so the limit includes them.
        allowed_seconds(run.plan, run.state, index),
        why=False,
        purpose="interview",
        packs=roots,
        sitting=Sitting(index + 1, len(run.plan.stages), run.seconds_left, opening),
    )
    left = run_session(given, run.journal)
    _record_stay(run, index, left)
    if left.how == "next":
        try:
            _hand_in(run, index, left, grade)
        except KeyboardInterrupt:
            return "interrupted"
    return left.how


def _hand_out(run: Interview, index: int) -> str:
    """Write the stub, unless the file is there. Return a sentence about the learner's file.

    Raises:
        DrillError: if the stub cannot be written.
    """
    challenge, path = run.challenge(index), run.path(index)
    stub = pack_reader.stub(challenge)
    if path.is_dir():
        raise DrillError(
            f"{path} is a folder; the stub needs this name. Move the folder away, then "
            "`attn-drill interview --resume` goes on."
        )
    if not path.exists():
        write_new(path, stub)
    if not run.state.stages[index].begun:
        run.journal.record_start(challenge.id, path, run.wall())
        run.record("begun", stage=index, seconds=0.0)
    if path.read_bytes() == stub.encode():
        return f"{path} is the stub: write your answer there."
    return f"{path} is your file; it is left unchanged."


def _opening(run: Interview, index: int, file_sentence: str) -> str:
    """Return the opening page of a problem: the file, the time left, all stages, the rules."""
    stage, state = run.plan.stages[index], run.state
    left_of_stage = allowed_seconds(run.plan, state, index) - state.stages[index].seconds
    stage_time = f"{minutes(left_of_stage)} min" if left_of_stage > 0 else "its time is up"
    this_stage = (
        f"Stage {index + 1} of {len(run.plan.stages)}, {stage.role}: "
        f"{run.challenge(index).title}, {stage_time}.\n{file_sentence}"
    )
    left = f"The {run.plan.minutes} minutes are over; you can go on, and overtime is noted"
    if run.seconds_left > 0:
        left = f"{minutes(run.seconds_left)} of {run.plan.minutes}:00 min are left"
        if run.seconds_left > left_of_stage > 0:
            left += f", {minutes(left_of_stage)} min of them for this problem"
    paragraphs = [
        this_stage,
        f"{left}. The clock starts when you press Enter.",
        _stage_list(run, index),
        _RULES,
        *run.news,
    ]
    run.news.clear()
    return "\n\n".join(paragraphs)


def _stage_list(run: Interview, index: int) -> str:
    lines = []
    for number, stage in enumerate(run.plan.stages, start=1):
        # The title of a later problem would give it away.
        title = f": {run.challenge(number - 1).title}" if number <= index + 1 else ""
        mark = "  (done)" if number <= index else "  (now)" if number == index + 1 else ""
        lines.append(f"  {number}. {stage.role}{title}, {_rounded(stage.seconds)}{mark}")
    if count := len(run.plan.questions):
        time_for_all = _rounded(run.plan.question_seconds)
        questions = "question" if count == 1 else "questions"
        lines.append(f"  then {count} {questions}, {time_for_all}")
    return "\n".join(lines)


def _rounded(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min"


def _record_stay(run: Interview, index: int, left: SessionResult) -> None:
    """Record the events of a stay in the session's screen."""
    if left.last is not None:
        data = attempt_data(index, left.last.verdict, left.last.statuses(), left.seconds)
        run.record("attempt", **data, count=left.attempts)
    if left.hints > run.state.stages[index].hints:
        run.record("hint", stage=index, seconds=left.seconds, level=left.hints)
    if left.whys:
        run.record("why", stage=index, seconds=left.seconds, count=left.whys)
    run.record("left", stage=index, seconds=left.seconds)


def _hand_in(run: Interview, index: int, left: SessionResult, grade: Grade) -> None:
    """End a stage with the learner's file. Grade it, off the clock, if it changed since."""
    challenge, path = run.challenge(index), run.path(index)
    code: str | None = None
    note = ""
    try:
        source = read_source(path)
    except DrillError as error:
        note = f"Nothing was handed in: {error if path.exists() else f'{path.name} was gone.'}"
    else:
        if source == pack_reader.stub(challenge):
            note = f"Nothing was handed in: {path.name} is the unchanged stub."
        else:
            code = source
    if code is not None and code != left.source:
        note = _grade_code(run, index, code, left.seconds, grade)
    since = run.journal.since_start(challenge.id)
    if since.hint > run.state.stages[index].hints:  # `attn-drill hint` in another window
        run.record("hint", stage=index, seconds=left.seconds, level=since.hint)
    run.record(
        "ended",
        stage=index,
        seconds=left.seconds,
        code=code,
        note=note,
        reference_seen=since.solution,
    )
    if note:
        run.news.append(note)


def _grade_code(run: Interview, index: int, code: str, seconds: float, grade: Grade) -> str:
    """Grade a file that is handed in and record the attempt. Return why not, or ""."""
    challenge = run.challenge(index)
    try:
        report = grade(challenge, code, run.path(index))
    except (DrillError, GraderError) as error:
        return f"Your file could not be graded: {error}"
    kept = write_attempt(run.journal, challenge, report, code, run.wall(), seconds, "interview")
    record_diagnosis(run.journal, kept.attempt, report)
    # An unfinished file has a result and is no attempt.
    count = 0 if kept.attempt is None else 1
    data = attempt_data(index, report.verdict, report.statuses(), seconds)
    run.record("attempt", **data, count=count)
    return ""
