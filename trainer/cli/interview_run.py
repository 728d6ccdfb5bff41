"""A mock interview under way: what is written down of it, the lines that are read, the grader, and how a stage begins and ends."""

from __future__ import annotations

import os
import secrets
import select
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from trainer.cli.interview_packs import grader_for
from trainer.content import packs
from trainer.core.words import Challenge, DrillError, GraderError
from trainer.practice.files import read_source, write_new
from trainer.practice.interview import Plan
from trainer.practice.interview_state import Event, State, allowed_seconds, attempt_event, state_of
from trainer.practice.journal import Journal
from trainer.practice.record import record, record_diagnosis

if TYPE_CHECKING:
    from trainer.core.report import Report
    from trainer.grading.grader import Grader


@dataclass
class Interview:
    """An interview under way: its plan and all that has happened, here and in the journal."""

    id: str
    began: float
    plan: Plan
    challenges: Mapping[str, Challenge]
    journal: Journal
    wall: Callable[[], float]
    clock: Callable[[], float]
    events: list[Event] = field(default_factory=list)
    watched: bool = False  # the problems are shown in the session's screen
    unsaid: list[str] = field(default_factory=list)  # paragraphs for the next opening page

    def say(self, text: str) -> None:
        """Tell the learner: at once, or on the next opening page where there is one.

        The session's screen would cover what is printed before it.
        """
        if self.watched:
            self.unsaid.append(text.strip("\n"))
        else:
            typer.echo(text)

    def all_said(self) -> list[str]:
        """Return what waits for the next opening page, once."""
        said, self.unsaid = self.unsaid, []
        return said

    @property
    def state(self) -> State:
        """What all events add up to."""
        return state_of(self.plan, self.events)

    def record(self, kind: str, **data: Any) -> None:
        """Something happened."""
        at = self.wall()
        self.events.append((at, kind, data))
        self.journal.record_event(self.id, at, kind, data)

    def is_kept(self) -> bool:
        """Whether all of it is in the journal."""
        return len(self.journal.events(self.id)) == len(self.events)

    def challenge(self, index: int) -> Challenge:
        """The problem of a stage."""
        return self.challenges[self.plan.stages[index].challenge]

    def path(self, index: int) -> Path:
        """The learner's file of a stage."""
        return Path(self.plan.folder) / self.challenge(index).file_name

    def stopwatch(self, before: float) -> Callable[[], float]:
        """Seconds from now on, and those before."""
        began = self.clock()
        return lambda: before + self.clock() - began


class Lines:
    """Lines from a descriptor; how long one is waited for can be limited, which Python's own files cannot."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    def next(self, seconds: float | None = None) -> str | None:
        """The next line without its end, or None after the last one.

        Raises:
            TimeoutError: where none came within these seconds.
        """
        while b"\n" not in self._rest:
            if (
                seconds is not None
                and not select.select([self._descriptor], [], [], max(0.0, seconds))[0]
            ):
                raise TimeoutError
            try:
                part = os.read(self._descriptor, 4096)
            except OSError:  # the terminal is gone
                part = b""
            if not part:
                if not self._rest:
                    return None
                part = b"\n"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")


class Desk:
    """The grader of an interview, started when the first file is graded."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._grader: Grader | None = None

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def grade(self, challenge: Challenge, source: str, path: Path) -> Report:
        """Grade a file on fresh cases.

        Raises:
            GraderError: where there is no verdict.
        """
        if self._grader is None:
            self._grader = self._stack.enter_context(grader_for())
        return self._grader.grade(
            challenge, source, str(path), secrets.randbelow(1 << 31), diagnosed=True
        )


def minutes_in_words(seconds: float) -> str:
    """`12:05`, minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def open_stage(run: Interview, index: int) -> None:
    """Hand the stub out, unless the learner's file is there, and say what this stage is."""
    stage, challenge, path = run.plan.stages[index], run.challenge(index), run.path(index)
    done = run.state.stages[index]
    stub = packs.stub(challenge)
    place = f"{path} is the stub: write your answer there."
    if path.is_dir():
        raise DrillError(
            f"{path} is a folder; the stub would be a file of that name. Move it away, then `attn-drill interview --resume` goes on."
        )
    if path.exists():
        if done.begun:
            place = f"{path} is your file."
        elif path.read_bytes() != stub.encode():
            place = f"{path} is already there and is left as it is: write your answer there."
    else:
        write_new(path, stub)
        if done.begun:
            place = f"{path} was gone; it is a fresh stub again."
    if not done.begun:
        run.journal.record_start(challenge.id, path, run.wall())
        run.record("begun", stage=index, seconds=0.0)
    left = allowed_seconds(run.plan, run.state, index) - done.seconds
    time = f"{minutes_in_words(left)} min" if left > 0 else "its time is up"
    run.say(
        f"\nStage {index + 1} of {len(run.plan.stages)}, {stage.role}: {challenge.title}, {time}.\n{place}"
    )


def record_attempt(run: Interview, index: int, report: Report, source: str, seconds: float) -> None:
    """Keep an attempt, among all attempts and in the interview. The result of an unfinished file is no attempt."""
    kept = record(
        run.journal, run.challenge(index), report, source, run.wall(), seconds, "interview"
    )
    record_diagnosis(run.journal, kept.attempt, report)
    count = 0 if kept.attempt is None else 1
    run.record(
        "attempt", **attempt_event(index, report.verdict, report.statuses(), seconds), count=count
    )


def hand_in(run: Interview, index: int, desk: Desk, seconds: float, *, graded: bool) -> None:
    """End a stage with what is there; what was not graded yet is graded now, off the clock."""
    challenge, path = run.challenge(index), run.path(index)
    code: str | None = None
    note = ""
    try:
        source = read_source(path)
    except DrillError as error:
        note = f"Nothing was handed in: {error if path.exists() else f'{path.name} was gone.'}"
    else:
        if source == packs.stub(challenge):
            note = "Nothing was handed in: the file is the stub as it was handed out."
        else:
            code = source
    if code is not None and not graded:
        typer.echo("What is there is graded …")
        try:
            record_attempt(run, index, desk.grade(challenge, code, path), code, seconds)
        except (DrillError, GraderError) as error:
            note = f"What was handed in could not be graded: {error}"
    since = run.journal.since_start(challenge.id)
    if since.hint > run.state.stages[index].hints:  # asked for with `attn-drill hint` elsewhere
        run.record("hint", stage=index, seconds=seconds, level=since.hint)
    run.record(
        "ended", stage=index, seconds=seconds, code=code, note=note, reference_seen=since.solution
    )
    if note:
        typer.echo(note)
