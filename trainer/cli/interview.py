"""`attn-drill interview`: a timed mock interview with a score sheet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.messages import warn_journal as say_trouble
from trainer.core.words import DrillError
from trainer.practice.journal import default_journal


def interview(
    minutes: Annotated[
        int | None, typer.Option("--minutes", metavar="M", help="5 to 240; 45 by default.")
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option("--topic", help="A topic, or the challenge that is the main problem."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", help="The folder for the stubs; by default a fresh one in this folder."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", help="Decides among problems that suit as well; a fresh one by default."
        ),
    ] = None,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--fresh", help="Go on with the one under way, or leave it and begin another."
        ),
    ] = None,
    sheet: Annotated[
        bool, typer.Option("--sheet", help="Show the last score sheet again.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="The score sheet's file; by default score-sheet.html beside the stubs.",
        ),
    ] = None,
    no_watch: Annotated[
        bool,
        typer.Option("--no-watch", help="Commands line by line; also where there is no terminal."),
    ] = False,
) -> None:
    """Hold a timed mock interview: problems, questions, and a score sheet at the end."""
    # What another encoding lacks is shown as a question mark.
    getattr(sys.stdout, "reconfigure", lambda errors: None)(errors="replace")
    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise DrillError(
            f"--html is {html}; its name must end in .html, so that no other file is written over. Name it {html.with_suffix('.html')}."
        )
    # Only here: the program starts a fifth faster without them.
    from trainer.cli import interview_course as course
    from trainer.cli.practise import can_stay

    journal = default_journal()
    last = course.last_one(journal)
    if sheet:
        course.show_again(last, html)
        return
    under_way = last is not None and not last.state.finished
    if resume is None and under_way:
        raise DrillError(
            "An interview is under way. `attn-drill interview --resume` goes on with it, `attn-drill interview --fresh` leaves it and begins another."
        )
    watched = not no_watch and sys.stdin is not None and can_stay()
    if resume:
        if last is None or not under_way:
            say_trouble(journal)
            raise DrillError("No interview is under way. `attn-drill interview` begins one.")
        if given := [
            name
            for name, value in (
                ("--minutes", minutes),
                ("--topic", topic),
                ("--dir", folder),
                ("--seed", seed),
            )
            if value is not None
        ]:
            raise DrillError(
                f"--resume goes on as it was planned; leave {given[0]} out, or begin another with --fresh."
            )
        last.watched = watched
        run = course.resumed(last)
    else:
        run = course.begun(
            journal, 45 if minutes is None else minutes, topic, folder, seed, html, watched=watched
        )
    course.hold(run, html)
