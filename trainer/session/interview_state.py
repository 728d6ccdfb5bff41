"""The state of a mock interview, and its problems: each is handed out, practised and handed in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer.app.hunts import continued, hunt_task
from trainer.hunt.planted_mistakes import (
    hunt_file_text,
    in_words,
    mistakes_by_ids,
    strip_comments,
)
from trainer.interview.plan import InterviewPlan, Stage
from trainer.interview.state import Event, InterviewState, allowed_seconds, attempt_data, state_of
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.model.report import Report
from trainer.packs import pack_reader
from trainer.packs.follow_up import FollowUp
from trainer.practice.facts import Hunted, InterviewEvent, Purpose, Reviewed, Started
from trainer.practice.journal import Journal
from trainer.practice.learner_files import read_source, write_new
from trainer.practice.progress import since_start
from trainer.practice.record_attempt import record_diagnosis, write_attempt
from trainer.report.score_sheet import minutes
from trainer.session.model import Ending, SessionRequest, SessionResult, Sitting
from trainer.session.run_session import run_session

# Grades a text, with the ids of the mistakes that were planted in it.
Grade = Callable[[Challenge, str, Path, tuple[str, ...]], Report]

_GRADED_RULES = """\
Every save of your file is graded.
h shows a hint and w names the likely mistake: each costs a quarter of this problem's points for \
work without help."""
_UNGRADED_RULES = """\
Nothing is graded before you hand in your file, and the verdict is on the score sheet.
h shows a hint: it costs a quarter of this problem's points for work without help."""
_DEBUGGING_RULES = """\
The file has {many} in it: find {them} and repair {them}.
Every save of the file is graded, and the report says how many are left.
h shows a hint and w names a bug that is left: each costs a quarter of this problem's points for \
work without help."""
_KEY_RULES = """\
n hands in your file and goes on to the next stage.
q leaves: `attn-drill interview --resume` goes on, and the pause does not count."""


@dataclass
class Interview:
    """A mock interview.

    Attributes:
        id: the id of the interview in the journal.
        began: the seconds since the epoch at its begin.
        plan: its stages, questions and minutes.
        questions: the follow-up questions in their order, with their answers.
        challenges: all known challenges by id.
        journal: the learner's journal.
        events: all events in order. The journal has the same events.
        news: sentences for the next page.
        wall: returns the seconds since the epoch.
        clock: returns seconds that only go forwards.
    """

    id: str
    began: float
    plan: InterviewPlan
    questions: Sequence[FollowUp]
    challenges: Mapping[str, Challenge]
    journal: Journal
    events: list[Event] = field(default_factory=list)
    news: list[str] = field(default_factory=list)
    wall: Callable[[], float] = time.time
    clock: Callable[[], float] = time.monotonic

    @property
    def state(self) -> InterviewState:
        """The state after all events."""
        return state_of(self.plan, self.events)

    @property
    def seconds_left(self) -> float:
        """The time left of the whole interview; negative if its time is up."""
        return self.plan.seconds - self.state.seconds

    def record(self, kind: str, **data: Any) -> None:
        """Add an event here and in the journal."""
        # The journal returns events in order of time, whatever the clock of the machine does.
        at = max([self.wall(), *(at for at, _, _ in self.events)])
        self.events.append((at, kind, data))
        self.journal.add(InterviewEvent(self.id, at, event=kind, data=data))

    def rate(self, question: FollowUp, rating: int, seconds: float) -> None:
        """Record the learner's own rating of an answer, as an event and as a review.

        Args:
            question: the question.
            rating: 1 again, 2 hard, 3 good, 4 easy.
            seconds: the time for all questions so far.
        """
        self.record("answer", seconds=seconds, item=question.item, rating=rating)
        self.journal.add(Reviewed(question.item, self.wall(), rating=rating, reason="own rating"))

    def is_recorded(self) -> bool:
        """Return whether the journal has all events."""
        return len(self.journal.facts(InterviewEvent, subject=self.id)) == len(self.events)

    def challenge(self, index: int) -> Challenge:
        """Return the problem of a stage."""
        return self.challenges[self.plan.stages[index].challenge]

    def path(self, index: int) -> Path:
        """Return the learner's file of a stage."""
        return Path(self.plan.folder) / self.challenge(index).file_name

    def begun_at(self, index: int) -> float | None:
        """Return the time at which a stage began, in seconds since the epoch."""
        for at, kind, data in self.events:
            if kind == "begun" and data.get("stage") == index:
                return at
        return None

    def handed_out(self, index: int) -> str:
        """Return the text with which a stage begins.

        It is a stub, or a reference with bugs. After a debugging stage it is the repaired file, or
        the reference if the file was not repaired.
        """
        stage, challenge = self.plan.stages[index], self.challenge(index)
        earlier = self.plan.stages[index - 1] if index else None
        if earlier is None or not earlier.bugs:
            return first_text(challenge, stage)
        before, repaired = self.challenge(index - 1), self.state.stages[index - 1]
        is_repaired = repaired.result is not None and repaired.result.verdict == "passed"
        if repaired.code is None or not is_repaired:
            return continued(before, challenge, strip_comments(pack_reader.solution(before)))
        return continued(before, challenge, repaired.code)


def first_text(challenge: Challenge, stage: Stage) -> str:
    """Return the text of the first stage: a stub, or a reference with bugs.

    Raises:
        DrillError: if the pack no longer has these bugs.
    """
    if not stage.bugs:
        return pack_reader.stub(challenge)
    mistakes = mistakes_by_ids(challenge, stage.bugs)
    if mistakes is None:
        raise DrillError(
            f"{challenge.id} no longer has the bugs {', '.join(stage.bugs)} of this interview. "
            "Begin another interview with `attn-drill interview --fresh`."
        )
    return hunt_file_text(challenge, mistakes, with_commands=False)


def solve_problems(run: Interview, roots: tuple[Path, ...], language: str, grade: Grade) -> Ending:
    """Show the problems one after the other. Return "next" after the last problem.

    Args:
        run: the interview.
        roots: the folders of all known packs.
        language: the language of the prompts, e.g. "en".
        grade: grades the text of a file that is handed in.
    """
    ending: Ending = "next"
    while ending == "next" and (index := run.state.stage) is not None:
        ending = _solve(run, index, roots, language, grade)
    return ending


def _solve(
    run: Interview, index: int, roots: tuple[Path, ...], language: str, grade: Grade
) -> Ending:
    """Show a problem until the learner leaves; hand it in if the learner goes on."""
    challenge, path, stage = run.challenge(index), run.path(index), run.plan.stages[index]
    handed_out = run.handed_out(index)
    opening = _opening(run, index, _hand_out(run, index, handed_out))
    request = SessionRequest(
        challenge,
        path,
        _task(challenge, path, stage) + pack_reader.prompt(challenge, language),
        run.state.stages[index].seconds,
        # The clock of the session includes the seconds before, so the limit includes them too.
        allowed_seconds(run.plan, run.state, index),
        stage="where" if stage.bugs else "line",  # to find the lines is the task of a hunt
        purpose=_purpose(stage),
        packs=roots,
        is_graded=run.plan.is_graded,
        sitting=Sitting(index + 1, len(run.plan.stages), run.seconds_left, opening),
        untouched=handed_out,
        hunted=stage.bugs,
    )
    result = run_session(request, run.journal)
    _record_session(run, index, result)
    if result.ending == "next":
        try:
            _hand_in(run, index, handed_out, result, grade)
        except KeyboardInterrupt:
            return "interrupted"
    return result.ending


def _task(challenge: Challenge, path: Path, stage: Stage) -> str:
    return hunt_task(challenge, path.name, len(stage.bugs)) if stage.bugs else ""


def _purpose(stage: Stage) -> Purpose:
    """Return the purpose of a stage's attempts. A repaired file is no answer from memory."""
    return "hunt" if stage.bugs else "interview"


def _hand_out(run: Interview, index: int, text: str) -> str:
    """Write the text of the stage, unless the file is there. Return a sentence about the file.

    Raises:
        DrillError: if the file cannot be written.
    """
    challenge, path, stage = run.challenge(index), run.path(index), run.plan.stages[index]
    if path.is_dir():
        raise DrillError(
            f"{path} is a folder; the learner's file needs this name. Move the folder away, then "
            "`attn-drill interview --resume` goes on."
        )
    if not path.exists():
        write_new(path, text)
    if not run.state.stages[index].begun:
        if stage.bugs:
            run.journal.add(Hunted(challenge.id, run.wall(), mistakes=stage.bugs, path=str(path)))
        else:
            run.journal.add(Started(challenge.id, run.wall(), path=str(path)))
        run.record("begun", stage=index, seconds=0.0)
    if path.read_bytes() == text.encode():
        if stage.bugs:
            return f"{path} is the file to repair."
        if index and run.plan.stages[index - 1].bugs:
            return f"{path} is the repaired file: continue with it."
        return f"{path} is the stub: write your answer there."
    return f"{path} is your file; it is left unchanged."


def _opening(run: Interview, index: int, file_sentence: str) -> str:
    """Return the opening page of a problem: the file, the time left, all stages, the rules."""
    stage, state = run.plan.stages[index], run.state
    seconds_of_stage = allowed_seconds(run.plan, state, index) - state.stages[index].seconds
    stage_time = f"{minutes(seconds_of_stage)} min" if seconds_of_stage > 0 else "its time is up"
    this_stage = (
        f"Stage {index + 1} of {len(run.plan.stages)}, {stage.role}: "
        f"{run.challenge(index).title}, {stage_time}.\n{file_sentence}"
    )
    time_left = f"The {run.plan.minutes} minutes are over; you can go on, and overtime is noted"
    if run.seconds_left > 0:
        time_left = f"{minutes(run.seconds_left)} of {run.plan.minutes}:00 min are left"
        if run.seconds_left > seconds_of_stage > 0:
            time_left += f", {minutes(seconds_of_stage)} min of them for this problem"
    paragraphs = [
        this_stage,
        f"{time_left}. The clock starts when you press Enter.",
        _stage_list(run, index),
        f"{_rules(run.plan, stage)}\n{_KEY_RULES}",
        *run.news,
    ]
    run.news.clear()
    return "\n\n".join(paragraphs)


def _rules(plan: InterviewPlan, stage: Stage) -> str:
    if not plan.is_graded:
        return _UNGRADED_RULES
    if not stage.bugs:
        return _GRADED_RULES
    many, them = in_words(len(stage.bugs))
    return _DEBUGGING_RULES.format(many=many, them=them)


def _stage_list(run: Interview, index: int) -> str:
    lines = []
    for stage_number, stage in enumerate(run.plan.stages, start=1):
        current = index + 1
        # The title of a later problem would give that problem away.
        title = f": {run.challenge(stage_number - 1).title}" if stage_number <= current else ""
        mark = "  (done)" if stage_number < current else ""
        if stage_number == current:
            mark = "  (now)"
        lines.append(f"  {stage_number}. {stage.role}{title}, {_rounded(stage.seconds)}{mark}")
    if count := len(run.plan.questions):
        time_for_all = _rounded(run.plan.question_seconds)
        questions = "question" if count == 1 else "questions"
        lines.append(f"  then {count} {questions}, {time_for_all}")
    return "\n".join(lines)


def _rounded(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min"


def _record_session(run: Interview, index: int, result: SessionResult) -> None:
    """Record the events of a session."""
    if result.last is not None:
        data = attempt_data(
            index,
            result.last.verdict,
            result.last.statuses(),
            result.seconds,
            _bugs_left(result.last),
        )
        run.record("attempt", **data, count=result.attempts)
    if result.hints > run.state.stages[index].hints:
        run.record("hint", stage=index, seconds=result.seconds, level=result.hints)
    if result.revealed_mistakes:
        run.record("why", stage=index, seconds=result.seconds, count=result.revealed_mistakes)
    run.record("left", stage=index, seconds=result.seconds)


def _bugs_left(report: Report) -> int | None:
    """Return the number of planted mistakes that are left, or None if it is not known."""
    if report.repair is None or report.repair.left is None:
        return None
    return len(report.repair.left)


def _hand_in(
    run: Interview, index: int, handed_out: str, result: SessionResult, grade: Grade
) -> None:
    """End a stage with the learner's file.

    If the file changed after its last verdict, it is graded. The time for this does not count.
    """
    challenge, path = run.challenge(index), run.path(index)
    code: str | None = None
    note = ""
    try:
        source = read_source(path)
    except DrillError as error:
        note = f"Nothing was handed in: {error if path.exists() else f'{path.name} was gone.'}"
    else:
        if source == handed_out:
            kind = "stub" if handed_out == pack_reader.stub(challenge) else "file"
            note = f"Nothing was handed in: {path.name} is the unchanged {kind}."
        else:
            code = source
    if code is not None and code != result.source:
        note = _grade_code(run, index, code, result.seconds, grade)
    # A file to repair is no start of the challenge, so the journal has no start for it.
    since = since_start(run.journal.facts(subject=challenge.id), run.begun_at(index))
    if since.hint > run.state.stages[index].hints:  # from `attn-drill hint` in another window
        run.record("hint", stage=index, seconds=result.seconds, level=since.hint)
    run.record(
        "ended",
        stage=index,
        seconds=result.seconds,
        code=code,
        note=note,
        reference_seen=since.solution,
    )
    if note:
        run.news.append(note)


def _grade_code(run: Interview, index: int, code: str, seconds: float, grade: Grade) -> str:
    """Grade a file that is handed in and record the attempt. Return why it failed, or ""."""
    challenge, stage = run.challenge(index), run.plan.stages[index]
    try:
        report = grade(challenge, code, run.path(index), stage.bugs)
    except (DrillError, GraderError) as error:
        return f"Your file could not be graded: {error}"
    recorded = write_attempt(
        run.journal, challenge, report, code, run.wall(), seconds, _purpose(stage)
    )
    record_diagnosis(run.journal, recorded.attempt, report, run.wall())
    # An unfinished file has a result, but does not count as an attempt.
    count = 0 if recorded.attempt is None else 1
    data = attempt_data(index, report.verdict, report.statuses(), seconds, _bugs_left(report))
    run.record("attempt", **data, count=count)
    return ""
