"""The commands of a class: `attn-drill class grade`, `override`, `handout` and `autograder`.

Each submission is isolated from the grader and from the other submissions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.open_packs import KnownPacks
from attn_drill.cli._command_line import AssignedId, AssignmentPath, Jobs
from attn_drill.model.errors import DrillError, GraderError

# Options of `grade`.
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

# Options of `override`.
_RESULTS = typer.Argument(metavar="OUT", help="The folder with the results of `class grade`.")
_STUDENT = typer.Argument(
    metavar="STUDENT", help="The name, id, user name, e-mail address or anonymous id."
)
_POINTS = typer.Option(metavar="P", help="The points, 0 to 100.")
_COMMENT = typer.Option(metavar="TEXT", help="The reason, which the student reads.")
_CHALLENGE = typer.Option(metavar="ID", help="Decide only this challenge.")

# Options of `handout`.
_FILE = typer.Argument(metavar="FILE", help="The assignment.toml.")
_FOLDER = typer.Option(help="The folder for the page and the stubs.")


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
    from attn_drill.server.clients import pool

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
    from attn_drill.cli._class_run import begin, grade_pending, write_outputs

    run = begin(options, out, packs, resume=resume, allow_weaker=allow_weaker)
    grade_pending(run, executor, jobs)
    if failed := write_outputs(run.store, run.record, run.before):
        raise GraderError(
            f"{failed} could not be graded because the grader failed: `error` in"
            f" {run.store.out / 'results'} gives the reason. --resume tries them again."
        )


def override(
    out: Annotated[Path, _RESULTS],
    student: Annotated[str, _STUDENT],
    points: Annotated[float, _POINTS],
    comment: Annotated[str, _COMMENT] = "",
    challenge: Annotated[str, _CHALLENGE] = "",
) -> None:
    """Set the points of a student by hand, and write all tables again."""
    from attn_drill.classroom.gradebook import OVERRIDES_FILE, Entry, append_entry, decided_file
    from attn_drill.classroom.result_store import ResultStore, read_record
    from attn_drill.classroom.roster import StudentIndex
    from attn_drill.cli._class_run import write_outputs

    if not 0 <= points <= 100:
        raise DrillError(f"--points is {points:g}; it must be 0 to 100.")
    record = read_record(out)
    if record is None:
        raise DrillError(
            f"{out} holds no results of `attn-drill class grade`. Name the folder of its --out."
        )
    if challenge and challenge not in record.challenges:
        raise DrillError(
            f"--challenge is {challenge!r}; this grading has {', '.join(record.challenges)}."
        )
    name = StudentIndex(record.students, record.salt).find(student).name
    if len(record.challenges) == 1:
        challenge = record.challenges[0]  # its points and the total are the same
    file = decided_file(record, name, challenge)
    append_entry(out / OVERRIDES_FILE, Entry(name, points, challenge, comment, file))
    write_outputs(ResultStore(out, record.challenges), record, record)


def handout(
    context: typer.Context,
    file: Annotated[Path, _FILE],
    out: Annotated[Path, _FOLDER] = Path("handout"),
) -> None:
    """Write the tasks of an assignment as one HTML page, and the stub of each task."""
    from attn_drill.app.grade_file import fresh_seed
    from attn_drill.app.open_packs import settings
    from attn_drill.app.warn import say
    from attn_drill.classroom.assignment import check_weights, read_assignment
    from attn_drill.classroom.result_store import write_atomically
    from attn_drill.cli._class_run import due_checks
    from attn_drill.export.handout import HandoutTask, handout_html
    from attn_drill.packs import pack_reader

    packs: KnownPacks = context.obj.packs
    assignment = read_assignment(file, packs.find, needs_due=False)
    seed = fresh_seed()
    tasks = []
    paths = [out / "handout.html"]
    for assigned in assignment.challenges:
        challenge = packs.find(assigned.challenge)
        name = f"{challenge.folder.name}.py"
        checks = due_checks(challenge.id, packs, seed)
        prompt = pack_reader.prompt(challenge, settings().language)
        tasks.append(HandoutTask(assigned, challenge.title, name, challenge.entry, prompt, checks))
        paths.append(out / name)
        write_atomically(out / name, pack_reader.stub(challenge).encode())
    checks_of = {task.assigned.challenge: task.checks for task in tasks}
    check_weights(assignment, checks_of.__getitem__, file)
    write_atomically(paths[0], "".join(handout_html(assignment, tasks)).encode())
    say(f"written: {', '.join(map(str, paths))}")


def autograder(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A new folder, or one that this command wrote before."),
    ],
    challenge_id: AssignedId = None,
    assignment: AssignmentPath = None,
) -> None:
    """Write an autograder for Gradescope that grades one assignment with this version.

    It includes the challenges of your own packs that the assignment needs.
    """
    from attn_drill.app.warn import say
    from attn_drill.classroom.assignment import read_assignment
    from attn_drill.cli._class_run import check_one_of
    from attn_drill.export.handout import write_autograder
    from attn_drill.packs import pack_reader

    packs: KnownPacks = context.obj.packs
    check_one_of(challenge_id or "", str(assignment or ""))
    if assignment is not None:
        names = read_assignment(assignment, packs.find, needs_due=False).challenge_ids
        text = assignment.read_text(encoding="utf-8")
    else:
        names = [packs.find(str(challenge_id)).id]
        text = f'[[challenge]]\nid = "{names[0]}"\n'
    challenges = [packs.find(name) for name in names]
    built_in = pack_reader.built_in_pack()
    # The autograder installs attn-drill, which has the built-in pack.
    write_autograder(
        folder,
        text,
        [challenge for challenge in challenges if challenge.folder.parent.parent != built_in],
    )
    say(
        f"{folder} is ready. Zip the files in it and upload the zip to Gradescope;"
        f" {folder / 'README.md'} has the steps."
    )
