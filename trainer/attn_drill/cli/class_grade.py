"""`attn-drill class grade DIR`: grade the submissions of a class.

Each submission is isolated from the grader and from the other submissions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.open_packs import KnownPacks
from attn_drill.cli.parameters import AssignedId, AssignmentPath, Jobs

_DIR = typer.Argument(
    metavar="DIR",
    help="The submissions: a folder, or a learning management system's zip. With --resume,"
    " also the folder of an earlier --out.",
)
_OUT = typer.Option(help="The folder for the results; by default grades/.")
_ROSTER = typer.Option(help="The class: an LMS export, or a CSV of names.")
_RESUME = typer.Option("--resume", help="Grade only what is new or changed.")
_WRITE = typer.Option(help="Tables and pages, for example csv,html,canvas.")
_EXECUTOR = typer.Option(help="local, or dask://HOST:PORT.")
_ALLOW_WEAKER = typer.Option("--allow-weaker-isolation", help="Grade although isolation is weaker.")


def grade(
    context: typer.Context,
    folder: Annotated[Path, _DIR],
    challenge_id: AssignedId = None,
    assignment: AssignmentPath = None,
    out: Annotated[Path | None, _OUT] = None,
    roster: Annotated[Path | None, _ROSTER] = None,
    resume: Annotated[bool, _RESUME] = False,
    jobs: Jobs = None,
    write: Annotated[str, _WRITE] = "",
    executor: Annotated[str, _EXECUTOR] = "local",
    allow_weaker: Annotated[bool, _ALLOW_WEAKER] = False,
) -> None:
    """Grade a class's submissions. Everything else is a key of the assignment's file."""
    from attn_drill.classroom.assignment import parse_formats
    from attn_drill.classroom.grading_jobs import check_executor
    from attn_drill.classroom.result_store import SavedOptions
    from attn_drill.cli.class_run import begin, grade_pending
    from attn_drill.model.errors import GraderError
    from attn_drill.server.pool import pool

    check_executor(executor)
    packs: KnownPacks = context.obj.packs
    options = SavedOptions(
        folder=str(folder.absolute()),
        assignment=str(assignment.absolute()) if assignment else "",
        challenge=challenge_id or "",
        roster=str(roster.absolute()) if roster else "",
        packs=[str(pack.absolute()) for pack in packs.named],
        write=list(parse_formats(write)),
    )
    if executor == "local" and not resume:
        pool.warm(tuple(map(str, packs.roots())))  # a server gets ready meanwhile
    from attn_drill.cli.class_outputs import write_outputs

    run = begin(options, out, packs, resume=resume, allow_weaker=allow_weaker)
    grade_pending(run, executor, jobs)
    if failed := write_outputs(run.store, run.record, run.before):
        raise GraderError(
            f"{failed} could not be graded because the grader failed: `error` in"
            f" {run.store.out / 'results'} gives the reason. --resume tries them again."
        )
