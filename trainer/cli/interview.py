"""`attn-drill interview`: hold a timed mock interview with a score sheet."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.start_challenge import language
from trainer.app.warn import warn, warn_journal
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.packs.catalogue import Catalogue
from trainer.packs.mistakes import read_mistakes
from trainer.practice.facts import InterviewBegan
from trainer.practice.journal import Journal, default_journal
from trainer.practice.progress import counted_attempts, rated_reviews

if TYPE_CHECKING:
    from trainer.interview.plan import InterviewPlan
    from trainer.interview.score import ScoreSheet
    from trainer.model.report import Report
    from trainer.session.interview_state import Interview

_SHEET_NAME = "score-sheet.html"


def interview(
    context: typer.Context,
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
            "--dir", help="The folder for the stubs; by default a new one in this folder."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Decides among suitable problems; random by default."),
    ] = None,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--fresh", help="Go on with the interview under way, or begin another."
        ),
    ] = None,
    sheet: Annotated[
        bool, typer.Option("--sheet", help="Print the last score sheet again.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help=f"The score sheet's file; by default {_SHEET_NAME} in the folder of the stubs.",
        ),
    ] = None,
    no_grader: Annotated[
        bool,
        typer.Option(
            "--no-grader",
            help="Grade nothing before you hand in; the verdict is on the score sheet.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Hold the debugging round: a file with several bugs, then its continuation.",
        ),
    ] = False,
    bugs: Annotated[
        int | None,
        typer.Option("--bugs", metavar="N", help="With --debug: 1 to 5 bugs; 4 by default."),
    ] = None,
    no_watch: Annotated[bool, typer.Option("--no-watch", hidden=True)] = False,
) -> None:
    """Hold a timed mock interview: problems, questions, and a score sheet at the end."""
    if bugs is not None and not debug:
        raise DrillError(f"--bugs is {bugs}, but only a debugging round has bugs: add --debug.")
    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise DrillError(
            f"--html is {html}; its name must end in .html, so that no other file is overwritten. "
            f"Name it {html.with_suffix('.html')}."
        )
    known_packs: KnownPacks = context.obj
    known = known_packs.catalogue()
    journal = default_journal()
    last = _last_interview(journal, known)
    if last is None and (sheet or resume) and journal.last(InterviewBegan) is not None:
        raise DrillError(
            "The last interview was held with another version of attn-drill, and this version "
            "cannot read it. `attn-drill interview` begins another interview."
        )
    if sheet:
        _print_again(last, html)
        return
    # Imported here: other commands start faster without it.
    from trainer.cli.practise import can_draw_screen

    if no_watch or not can_draw_screen():
        raise DrillError(
            "An interview needs a terminal: run `attn-drill interview` in one, "
            "without a pipe and without --no-watch."
        )
    under_way = last is not None and not last.state.finished
    if resume is None and under_way:
        raise DrillError(
            "An interview is under way. `attn-drill interview --resume` goes on with it, "
            "`attn-drill interview --fresh` begins another interview."
        )
    if resume:
        if last is None or not under_way:
            warn_journal(journal)
            raise DrillError(
                "No interview is under way. `attn-drill interview` begins an interview."
            )
        options = {
            "--minutes": minutes,
            "--topic": topic,
            "--dir": folder,
            "--seed": seed,
            "--no-grader": no_grader or None,
            "--debug": debug or None,
        }
        run = _resumed(last, [name for name, value in options.items() if value is not None])
    else:
        number_of_bugs = (4 if bugs is None else bugs) if debug else 0
        plan = _plan(
            journal, known, 45 if minutes is None else minutes, topic, seed, number_of_bugs
        )
        run = _begin(journal, known, replace(plan, is_graded=not no_grader), folder, html)
    _hold(run, known_packs, html)


def _last_interview(journal: Journal, known: Catalogue) -> Interview | None:
    """Return the last interview, or None if this version cannot read it."""
    from trainer.interview.plan import plan_from

    entry = journal.last(InterviewBegan)
    plan = plan_from(entry.plan) if entry is not None else None
    if entry is None or plan is None:
        return None
    return _interview(journal, known, entry.id, entry.at, plan)


def _interview(
    journal: Journal, known: Catalogue, name: str, began: float, plan: InterviewPlan
) -> Interview:
    """Return an interview from the journal, with its questions and events."""
    from trainer.interview.plan import planned_questions
    from trainer.packs.follow_up import read_follow_ups
    from trainer.session.interview_state import Interview, recorded_events

    questions, _ = read_follow_ups(tuple(known.challenges), language())
    asked = planned_questions(plan, questions)
    challenges = {challenge.id: challenge for challenge in known.challenges}
    events = recorded_events(journal, name)
    return Interview(name, began, plan, asked, challenges, journal, events)


def _plan(
    journal: Journal,
    known: Catalogue,
    minutes: int,
    topic: str | None,
    seed: int | None,
    bugs: int,
) -> InterviewPlan:
    """Return the plan of an interview, without its folder. With bugs, it is a debugging round."""
    from trainer.app import hunts
    from trainer.app.grade_file import fresh_seed
    from trainer.interview import plan as planning
    from trainer.packs.follow_up import read_follow_ups
    from trainer.practice.schedule import items

    if bugs:
        hunts.check_bugs(bugs)
    if not planning.LEAST_MINUTES <= minutes <= planning.MOST_MINUTES:
        least, most = planning.LEAST_MINUTES, planning.MOST_MINUTES
        raise DrillError(f"--minutes is {minutes}; it must be {least} to {most}.")
    mains = planning.main_problems(known.challenges, topic)
    questions, troubles = read_follow_ups(tuple(known.challenges), language())
    warn(troubles)
    now = time.time()
    facts = journal.facts()
    scheduled = items(rated_reviews(facts), now)
    familiarity = planning.familiarity(counted_attempts(facts), scheduled, now)
    seed = fresh_seed() if seed is None else seed
    if not bugs:
        chosen = planning.choose_problems(known.challenges, minutes, mains, familiarity, seed)
        return planning.make_plan(chosen, questions, minutes, familiarity, seed)
    challenge = hunts.debugging_challenge(mains, known.challenges, topic)
    follow_up = hunts.follow_up_of(challenge, known.challenges)
    ids = tuple(mistake.id for mistake in hunts.choose_bugs(challenge, bugs, (), seed))
    chosen = {"debugging": challenge}
    if follow_up is not None:
        chosen["follow-up"] = follow_up
    return planning.make_plan(chosen, questions, minutes, familiarity, seed, ids)


def _begin(
    journal: Journal, known: Catalogue, plan: InterviewPlan, folder: Path | None, html: Path | None
) -> Interview:
    """Write the first file of an interview and record the interview."""
    from trainer.practice.learner_files import write_new
    from trainer.session.interview_state import first_text

    now = time.time()
    place = _new_folder(now) if folder is None else folder
    by_id = {challenge.id: challenge for challenge in known.challenges}
    problems = [by_id[stage.challenge] for stage in plan.stages]
    files = [problem.file_name for problem in problems] + ([_SHEET_NAME] if html is None else [])
    for name in files:
        if os.path.lexists(place / name):
            raise DrillError(
                f"{place / name} already exists and is left unchanged. "
                "Choose another folder with --dir."
            )
    write_new(place / problems[0].file_name, first_text(problems[0], plan.stages[0]))
    plan = replace(plan, folder=str(place.resolve()))
    name = journal.add(InterviewBegan("", now, plan=asdict(plan)))
    run = _interview(journal, known, name, now, plan)
    warn_journal(journal)
    entry = journal.last(InterviewBegan)
    if entry is None or entry.id != run.id:
        run.news.append(
            "The journal cannot be written: this interview works, but it cannot be resumed."
        )
    return run


def _new_folder(now: float) -> Path:
    """Return `interview-<date>` in this folder, or a name with a suffix if the folder exists."""
    name = time.strftime("interview-%Y-%m-%d", time.localtime(now))
    suffix = 2
    folder = Path(name)
    while os.path.lexists(folder):
        folder = Path(f"{name}-{suffix}")
        suffix += 1
    return folder


def _resumed(run: Interview, given: list[str]) -> Interview:
    """Return the interview under way.

    Args:
        run: The interview under way.
        given: The given options that only a new interview can follow.

    Raises:
        DrillError: If there is such an option, or if no pack has a challenge of the interview any
            more.
    """
    from trainer.report.score_sheet import minutes

    if given:
        raise DrillError(
            f"--resume goes on as planned. Leave {given[0]} out, "
            "or begin another interview with --fresh."
        )
    for stage in run.plan.stages:
        if stage.challenge not in run.challenges:
            raise DrillError(
                f"The interview under way has the challenge {stage.challenge}, which no pack has "
                "any more. Begin another interview with `attn-drill interview --fresh`."
            )
    run.news.append(
        f"The interview goes on. {minutes(run.state.seconds)} of {run.plan.minutes}:00 min are "
        "spent; the pause does not count."
    )
    return run


def _hold(run: Interview, known_packs: KnownPacks, html: Path | None) -> None:
    """Run the interview until it ends or the learner leaves. Write the score sheet at the end."""
    from trainer.report.score_sheet import headline
    from trainer.session.interview_screen import ask_and_score
    from trainer.session.interview_state import solve_problems

    def finish() -> ScoreSheet:
        run.finish()
        return _score_sheet(run)

    def grade(challenge: Challenge, source: str, path: Path, planted: tuple[str, ...]) -> Report:
        """Grade a file that the learner hands in, with a new seed."""
        from trainer.app.grade_file import fresh_seed, grade_file

        typer.echo(f"{path.name} is being graded.")
        submission = Submission(str(path), source)
        return grade_file(known_packs, challenge, submission, fresh_seed(), planted=planted)

    ending = solve_problems(run, known_packs.roots(), language(), grade)
    if ending == "next":
        ending = ask_and_score(run, finish)
    warn_journal(run.journal)
    if ending == "next":
        path = html or Path(run.plan.folder) / _SHEET_NAME
        sheet = _score_sheet(run)
        typer.echo(f"{headline(sheet)}. `attn-drill interview --sheet` prints the sheet again.")
        _write(sheet, path)
        return
    if run.is_recorded():
        typer.echo(
            "The interview waits. `attn-drill interview --resume` goes on with it, and the pause "
            "does not count."
        )
    else:
        typer.echo(f"The interview is over: the journal cannot keep it. Files: {run.plan.folder}")
    raise typer.Exit(130 if ending == "interrupted" else 0)


def _print_again(run: Interview | None, html: Path | None) -> None:
    """Print the score sheet of a finished interview, and write it to a file if one is named."""
    from trainer.report.score_sheet import show

    if run is None:
        raise DrillError("There was no interview yet. `attn-drill interview` begins an interview.")
    if not run.state.finished:
        raise DrillError(
            "The last interview is not finished, so it has no score sheet. "
            "`attn-drill interview --resume` goes on with it."
        )
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sheet = _score_sheet(run)
    show(sheet, sys.stdout)
    if html is not None:
        _write(sheet, html)


def _score_sheet(run: Interview) -> ScoreSheet:
    """Return the score sheet.

    A challenge that no pack has any more gets no reference on the sheet.
    """
    from trainer.interview.score import score_sheet

    problems = [run.challenges.get(stage.challenge) for stage in run.plan.stages]
    references = {
        problem.id: pack_reader.solution(problem) for problem in problems if problem is not None
    }
    mistakes = {
        mistake.id: mistake.says
        for stage, problem in zip(run.plan.stages, problems, strict=True)
        if problem is not None and stage.bugs
        for mistake in read_mistakes(problem)
    }
    return score_sheet(
        run.plan, run.state, run.challenges, references, run.questions, run.began, mistakes
    )


def _write(sheet: ScoreSheet, path: Path) -> None:
    """Write a score sheet as HTML and print its path."""
    from trainer.report.score_sheet_page import to_html
    from trainer.report.wording import near

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_html(sheet), encoding="utf-8")
    except OSError as error:
        raise DrillError(
            f"The score sheet cannot be written to {path}: {error.strerror or error}. "
            "`attn-drill interview --sheet --html FILE` writes it elsewhere."
        ) from None
    typer.echo(f"The sheet with your code next to the reference: {near(path)}")
