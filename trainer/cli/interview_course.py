"""The course of a mock interview: how it begins, goes on after a pause, runs from stage to stage and ends with a score sheet."""

from __future__ import annotations

import os
import secrets
import sys
import time
from dataclasses import replace
from pathlib import Path

import typer

from trainer.cli.interview_packs import catalogue, pack_roots
from trainer.cli.interview_run import Desk, Interview, Lines, minutes_in_words, open_stage
from trainer.cli.interview_stages import How, PlainStage, ask_questions, watched_stage
from trainer.cli.messages import warn_journal as say_trouble
from trainer.content import packs
from trainer.content.questions import read_bank
from trainer.core.words import DrillError
from trainer.practice.files import write_new
from trainer.practice.interview import (
    LEAST_MINUTES,
    MOST_MINUTES,
    Plan,
    as_data,
    asked_of,
    known,
    main_problems,
    plan,
    plan_from,
)
from trainer.practice.interview_score import ScoreSheet, score_sheet
from trainer.practice.interview_state import unrecorded
from trainer.practice.journal import Journal
from trainer.practice.schedule import items

_SHEET = "score-sheet.html"


def last_one(journal: Journal) -> Interview | None:
    """The last interview that this version can read, with all its events."""
    found = journal.last_interview()
    made = plan_from(found[2]) if found is not None else None
    if found is None or made is None:
        return None
    challenges = {one.id: one for one in catalogue().challenges}
    return Interview(
        found[0],
        found[1],
        made,
        challenges,
        journal,
        time.time,
        time.monotonic,
        list(journal.events(found[0])),
    )


def begun(
    journal: Journal,
    minutes: int,
    topic: str | None,
    folder: Path | None,
    seed: int | None,
    html: Path | None,
    *,
    watched: bool,
) -> Interview:
    """Plan an interview, hand out its first stub and write it down."""
    if not LEAST_MINUTES <= minutes <= MOST_MINUTES:
        raise DrillError(f"--minutes is {minutes}; it must be {LEAST_MINUTES} to {MOST_MINUTES}.")
    there = catalogue()
    challenges, bank = there.challenges, read_bank(there.roots)
    mains = main_problems(challenges, bank.titles, topic)
    now = time.time()
    known_items = known(journal.attempts(), items(journal.reviews(), now), now)
    made = plan(
        challenges,
        bank.questions,
        minutes,
        mains,
        known_items,
        secrets.randbelow(1 << 31) if seed is None else seed,
    )
    by_id = {one.id: one for one in challenges}
    place = _fresh_folder(now) if folder is None else folder
    for name in [
        *(by_id[stage.challenge].file_name for stage in made.stages),
        *([_SHEET] if html is None else []),
    ]:
        if os.path.lexists(place / name):
            raise DrillError(
                f"{place / name} is already there and is left as it is. Choose another folder with --dir."
            )
    first = by_id[made.stages[0].challenge]
    write_new(place / first.file_name, packs.stub(first))
    made = replace(made, folder=str(place.resolve()))
    run = Interview(
        journal.record_interview(now, as_data(made)),
        now,
        made,
        by_id,
        journal,
        time.time,
        time.monotonic,
        watched=watched,
    )
    say_trouble(journal)
    found = journal.last_interview()
    if found is None or found[0] != run.id:
        run.say(
            "Without a journal this interview works, and cannot be resumed: it is over when you leave it."
        )
    run.say(_welcome(made))
    return run


def _fresh_folder(now: float) -> Path:
    """`interview-<date>` in this folder, with a number where that is there."""
    name = time.strftime("interview-%Y-%m-%d", time.localtime(now))
    number = 2
    place = Path(name)
    while os.path.lexists(place):
        place = Path(f"{name}-{number}")
        number += 1
    return place


def _welcome(made: Plan) -> str:
    problems = "one problem" if len(made.stages) == 1 else f"{len(made.stages)} problems"
    questions = f", then {len(made.questions)} questions" if made.questions else ""
    return (
        f"A mock interview of {made.minutes} minutes: {problems}{questions}, and a score sheet. One clock runs for all of it.\n"
        "Leave it when you must; `attn-drill interview --resume` goes on, and the pause does not count."
    )


def resumed(run: Interview) -> Interview:
    """Take in what was done before the interview was killed, and say where it stands."""
    if missing := [
        stage.challenge for stage in run.plan.stages if stage.challenge not in run.challenges
    ]:
        raise DrillError(
            f"The interview under way has the challenge {missing[0]}, which is no longer there. Begin another with `attn-drill interview --fresh`."
        )
    for kind, data in unrecorded(run.plan, run.began, run.events, run.journal.attempts()):
        run.record(kind, **data)
    run.say(
        f"The interview goes on: {minutes_in_words(run.state.seconds)} of {run.plan.minutes}:00 min are spent. The pause does not count."
    )
    return run


def hold(run: Interview, html: Path | None) -> None:
    """Stage by stage until the end, or until it is left."""
    lines = Lines(0 if sys.stdin is not None else os.open(os.devnull, os.O_RDONLY))
    with Desk() as desk:
        while (index := run.state.stage) is not None:
            open_stage(run, index)
            how = (
                watched_stage(run, index, desk)
                if run.watched
                else PlainStage(run, index, lines, desk).stay()
            )
            _leave_unless_next(run, how)
    asked = asked_of(run.plan, read_bank(pack_roots()).questions)
    _leave_unless_next(run, ask_questions(run, asked, lines))
    run.record("finished")
    path = html or Path(run.plan.folder) / _SHEET
    made = _sheet(run)
    _show(made)
    _write(made, path)
    say_trouble(run.journal)


def _leave_unless_next(run: Interview, how: How) -> None:
    """End the program where the learner leaves, and say how to come back."""
    if how == "next":
        return
    say_trouble(run.journal)
    if run.is_kept():
        typer.echo(
            "\nThe interview waits. `attn-drill interview --resume` goes on with it; the pause does not count."
        )
    else:
        typer.echo(
            "\nThe interview is over: it could not be kept in the journal. Your files are in "
            + run.plan.folder
        )
    raise typer.Exit(130 if how == "interrupted" else 0)


def show_again(run: Interview | None, html: Path | None) -> None:
    """Show the score sheet of a finished interview, and write it where `html` says.

    Raises:
        DrillError: where there is none.
    """
    if run is None:
        raise DrillError("There was no interview yet. `attn-drill interview` begins one.")
    if not run.state.finished:
        raise DrillError(
            "The last interview is not finished, so it has no score sheet. `attn-drill interview --resume` goes on with it."
        )
    made = _sheet(run)
    _show(made)
    if html is not None:
        _write(made, html)


def _sheet(run: Interview) -> ScoreSheet:
    """The score sheet; only now the references are read. What is no longer in the pack has none."""
    there = {stage.challenge for stage in run.plan.stages if stage.challenge in run.challenges}
    references = {name: packs.solution(run.challenges[name]) for name in there}
    asked = asked_of(run.plan, read_bank(pack_roots()).questions)
    return score_sheet(run.plan, run.state, run.challenges, references, asked, run.began)


def _show(made: ScoreSheet) -> None:
    from trainer.display.score_sheet import show

    typer.echo()
    show(made, sys.stdout)


def _write(made: ScoreSheet, path: Path) -> None:
    from trainer.display.score_sheet_html import to_html

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_html(made), encoding="utf-8")
    except OSError as error:
        again = "`attn-drill interview --sheet --html FILE` writes it elsewhere"
        raise DrillError(
            f"The score sheet cannot be written to {path}: {error.strerror or error}. {again[0].upper()}{again[1:]}."
        ) from None
    typer.echo(f"\nThe same with colours, code side by side: {path}")
