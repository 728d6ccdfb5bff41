"""The stages of a mock interview: a problem in the session's screen or by commands read line by line, and the questions."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from trainer.app.start import language
from trainer.cli.interview_packs import pack_roots
from trainer.cli.interview_run import (
    Desk,
    Interview,
    Lines,
    hand_in,
    minutes_in_words,
    record_attempt,
)
from trainer.cli.practise import show_prompt
from trainer.content import packs
from trainer.core.words import DrillError, GraderError
from trainer.display import asked as shown
from trainer.practice.files import read_source
from trainer.practice.interview_state import allowed_seconds, attempt_event
from trainer.practice.quiz import Asked, judge
from trainer.session.stay import Sitting, Stay, stay

if TYPE_CHECKING:
    from trainer.core.report import Report

How = Literal["next", "quit", "interrupted"]

_HELP = """\
check   grades your file
hint    gives the next hint, which is noted
why     tells the likely mistake where one is known, which is noted
time    tells how much is spent
next    hands in what is there and goes on
quit    leaves; the interview can be resumed"""
_RULES = """\
Every save of your file is graded.
h shows a hint and w names the likely mistake: each costs a quarter of this problem's points for work without help.
n hands in what is there and goes on to what comes next.
q leaves: `attn-drill interview --resume` goes on, and the pause does not count."""
_TIME_IS_UP = "Time is up. Enter or `next` hands in what is there; going on is possible and is noted as overtime."


def watched_stage(run: Interview, index: int, desk: Desk) -> How:
    """One problem in the session's screen, which opens with a page that waits for Enter."""
    challenge, path = run.challenge(index), run.path(index)
    allowed = allowed_seconds(run.plan, run.state, index)
    # The screen's clock counts what was spent before, so it runs against all that the stage has, not against what is left of it.
    prompt, seconds = packs.prompt(challenge, language()), run.state.stages[index].seconds
    left_in_all = run.plan.minutes * 60.0 - run.state.seconds
    sitting = Sitting(
        index + 1, len(run.plan.stages), left_in_all, _opening(run, index, left_in_all)
    )
    given = Stay(
        challenge,
        path,
        prompt,
        seconds,
        allowed,
        why=False,
        purpose="interview",
        packs=pack_roots(),
        sitting=sitting,
    )
    left = stay(given, run.journal)
    common = {"stage": index, "seconds": left.seconds}
    if left.last is not None:
        run.record(
            "attempt",
            **attempt_event(index, left.last.verdict, left.last.statuses(), left.seconds),
            count=left.attempts,
        )
    if left.hints > run.state.stages[index].hints:
        run.record("hint", **common, level=left.hints)
    if left.whys:
        run.record("why", **common, count=left.whys)
    run.record("left", **common)
    if left.how == "next":
        try:
            hand_in(
                run,
                index,
                desk,
                left.seconds,
                graded=left.source is not None and left.source == _text(path),
            )
        except KeyboardInterrupt:
            return "interrupted"
    return left.how


def _opening(run: Interview, index: int, left_in_all: float) -> str:
    """Return the opening page of a problem: the file, the time that is left, the problems, the rules.

    `open_stage` was called just before, so that the stage and the file's path are the last of what waits to be said.
    """
    stages = run.plan.stages
    begun = [one.begun for one in run.state.stages]
    problems = []
    for place, stage in enumerate(stages):
        # The title of a problem that is still to come would give it away.
        title = f": {run.challenge(place).title}" if begun[place] else ""
        state = "  (done)" if place < index else "  (now)" if place == index else ""
        problems.append(f"  {place + 1}. {stage.role}{title}, {_in_minutes(stage.seconds)}{state}")
    if run.plan.questions:
        problems.append(
            f"  then {len(run.plan.questions)} questions, {_in_minutes(run.plan.question_seconds)}"
        )
    allowed = allowed_seconds(run.plan, run.state, index) - run.state.stages[index].seconds
    left = (
        f"{minutes_in_words(left_in_all)} of {run.plan.minutes}:00 min are left"
        if left_in_all > 0
        else f"The {run.plan.minutes} minutes are over; you can go on, and that is noted as overtime"
    )
    mine = (
        f", {minutes_in_words(allowed)} min of them for this problem"
        if left_in_all > allowed > 0
        else ""
    )
    *general, this_stage = run.all_said()
    paragraphs = [
        this_stage,
        f"{left}{mine}. The clock starts when you press Enter.",
        "\n".join(problems),
        _RULES,
        *general,
    ]
    return "\n\n".join(paragraphs)


def _in_minutes(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min"


class PlainStage:
    """One problem by commands: `check`, `why`, `hint`, `time`, `next`, `quit`, `help`."""

    def __init__(self, run: Interview, index: int, lines: Lines, desk: Desk) -> None:
        self.run, self.index, self.lines, self.desk = run, index, lines, desk
        self.challenge, self.path = run.challenge(index), run.path(index)
        self.seconds = run.stopwatch(run.state.stages[index].seconds)
        self.allowed = allowed_seconds(run.plan, run.state, index)
        self.report: Report | None = None
        self.graded: str | None = None

    def stay(self) -> How:
        """Until it is left."""
        show_prompt(packs.prompt(self.challenge, language()))
        typer.echo(f"\n{_HELP}")
        told = False
        try:
            while True:
                if not told and self.seconds() >= self.allowed:
                    told = True
                    typer.echo(_TIME_IS_UP)
                try:
                    line = _asked_for(
                        self.lines, "> ", None if told else self.allowed - self.seconds()
                    )
                except TimeoutError:
                    continue
                how = self._obey(line, enter_is_next=told)
                if how is not None:
                    return how
        except KeyboardInterrupt:
            self._note("left")
            return "interrupted"

    def _obey(self, line: str | None, *, enter_is_next: bool) -> How | None:
        word = "quit" if line is None else line.strip().lower()
        match word or ("next" if enter_is_next else ""):
            case "":
                return None
            case "check":
                self._check()
            case "why":
                self._why()
            case "hint":
                self._hint()
            case "time":
                self._note("clock")
                typer.echo(
                    f"{minutes_in_words(self.seconds())} of {minutes_in_words(self.allowed)} min in this stage, {self._in_all()} min in all."
                )
            case "next":
                seconds = self.seconds()
                self._note("left")
                hand_in(
                    self.run,
                    self.index,
                    self.desk,
                    seconds,
                    graded=self.graded is not None and self.graded == _text(self.path),
                )
                return "next"
            case "quit":
                self._note("left")
                return "quit"
            case "help":
                typer.echo(_HELP)
            case _:
                typer.echo(f"{line!r} is no command here.\n{_HELP}")
        return None

    def _in_all(self) -> str:
        state = self.run.state
        spent = state.seconds - state.stages[self.index].seconds + self.seconds()
        return f"{minutes_in_words(spent)} of {minutes_in_words(self.run.plan.minutes * 60.0)}"

    def _note(self, kind: str, **data: Any) -> None:
        self.run.record(kind, stage=self.index, seconds=self.seconds(), **data)

    def _check(self) -> None:
        try:
            source = read_source(self.path)
            report = self.desk.grade(self.challenge, source, self.path)
        except (DrillError, GraderError) as error:
            self._note("clock")
            typer.echo(str(error) if self.path.exists() else _gone(self.path))
            return
        self.report, self.graded = report, source
        record_attempt(self.run, self.index, report, source, self.seconds())
        _show(report)
        if report.verdict == "passed":
            typer.echo("All checks hold. `next` goes on.")
        elif report.diagnosis is not None and report.diagnosis.mistakes:
            typer.echo("The mistake is a known one: `why` tells it, and that is noted.")

    def _why(self) -> None:
        if self.report is None:
            typer.echo("Nothing was checked yet. `check` grades your file.")
        elif self.report.diagnosis is None or not self.report.diagnosis.mistakes:
            typer.echo(
                "No known mistake gives exactly this."
                if self.report.verdict != "passed"
                else "All checks hold."
            )
        else:
            self._note("why")
            for one in self.report.diagnosis.mistakes:
                typer.echo(f"LIKELY  {one.says}")

    def _hint(self) -> None:
        taken = max(
            self.run.state.stages[self.index].hints,
            self.run.journal.since_start(self.challenge.id).hint,
        )
        most = len(self.challenge.hints)
        if taken >= most:
            typer.echo(f"That was the last hint of {most}.")
            return
        self.run.journal.record_hint(self.challenge.id, taken + 1, self.run.wall())
        self._note("hint", level=taken + 1)
        typer.echo(f"Hint {taken + 1} of {most}: {self.challenge.hints[taken]}")


def _asked_for(lines: Lines, mark: str, seconds: float | None = None) -> str | None:
    """The next line, after a mark where a person types it."""
    on_terminal = sys.stdin is not None and sys.stdin.isatty()
    if on_terminal:
        typer.echo(mark, nl=False)
    try:
        return lines.next(seconds)
    except TimeoutError:
        if on_terminal:
            typer.echo()
        raise


def _text(path: Path) -> str | None:
    """The text of the learner's file, or None where there is none that can be graded."""
    try:
        return read_source(path)
    except DrillError:
        return None


def _gone(path: Path) -> str:
    return f"{path} is gone: as it is, nothing is handed in for this problem. Write it again, or go on."


def _show(report: Report) -> None:
    """The report without the likely mistake; that one is known is said apart, for there is a command for it here."""
    from trainer.display.literal import console
    from trainer.display.terminal import has_unicode, render

    if report.diagnosis is not None:
        report = replace(report, diagnosis=replace(report.diagnosis, mistakes=()))
    out = console(sys.stdout)
    out.print(render(report, out.width, unicode=has_unicode(out), why=False, commands=False))


def ask_questions(run: Interview, asked: Sequence[Asked], lines: Lines) -> How:
    """The questions that are not answered yet. Nothing is said of an answer but that it was understood."""
    seconds = run.stopwatch(run.state.question_seconds)
    answered = {one.item for one in run.state.answers}
    left = run.plan.minutes * 60.0 - (run.state.seconds - run.state.question_seconds)
    told = False
    try:
        for number, one in enumerate(asked, start=1):
            if one.item in answered:
                continue
            if not told and seconds() > left:
                told = True
                typer.echo(
                    "\nThe time of the interview is up; the questions can still be answered, and that is noted."
                )
            typer.echo(f"\nQuestion {number} of {len(asked)}\n{shown.question(one, _width())}\n")
            given = _understood(one, lines)
            if given is None:
                run.record("left", seconds=seconds())
                return "quit"
            run.record(
                "answer",
                seconds=seconds(),
                item=one.item,
                given=given,
                right=judge(one, given).right,
            )
    except KeyboardInterrupt:
        run.record("left", seconds=seconds())
        return "interrupted"
    return "next"


def _understood(asked: Asked, lines: Lines) -> str | None:
    """An answer that can be judged, or None where the learner leaves."""
    while True:
        given = _asked_for(lines, shown.prompt(asked))
        if given is None or given.strip().lower() == "quit":
            return None
        judged = judge(asked, given)
        if judged.right is not None:
            return given.strip()
        typer.echo(
            shown.wrapped(f"{judged.message} `?` if you do not know, `quit` to leave.", _width())
        )


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns
