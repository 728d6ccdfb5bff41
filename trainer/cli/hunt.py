"""`attn-drill hunt ID`: repair a reference with one or two mistakes."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.start_challenge import prompt_text
from trainer.app.warn import warn_journal
from trainer.cli.parameters import ChallengeId
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.practice.journal import Journal, default_journal
from trainer.practice.learner_files import read_source, write_afresh

LastHunt = tuple[tuple[str, ...], Path]


def hunt(
    context: typer.Context,
    challenge_id: ChallengeId,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", help="The folder of the file to repair; by default this one."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Draw the same mistake again; with --check, the same cases."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Grade the repaired file; a pass shows what was wrong."),
    ] = False,
    reveal: Annotated[bool, typer.Option("--reveal", help="Give up: show what is wrong.")] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch/--no-watch", help="On a terminal, stay and grade every save."),
    ] = True,
) -> None:
    """Find and repair one or two mistakes in a reference."""
    from trainer.app import grade_file

    known_packs: KnownPacks = context.obj
    challenge = known_packs.find(challenge_id)
    if check and reveal:
        raise DrillError("--check grades your repair and --reveal gives up; use one of them.")
    if seed is not None:
        grade_file.check_seed(seed)
    journal = default_journal()
    last = journal.last_hunt(challenge.id)
    pack_option = known_packs.pack_option(challenge)
    if not check and not reveal:
        from trainer.cli.practise import can_draw_screen

        is_watched = watch and can_draw_screen()
        is_wanted = True
        while is_wanted:
            path = _hand_out(challenge, folder or Path(), seed, last, journal, pack_option)
            warn_journal(journal)
            is_wanted = is_watched and _repair(challenge, path, known_packs, journal)
            last, seed = journal.last_hunt(challenge.id), None
        return
    if last is None:
        warn_journal(journal)
        raise DrillError(
            f"No hunt in {challenge.id} is under way. "
            f"`attn-drill hunt {challenge.id}{pack_option}` begins one."
        )
    if reveal:
        typer.echo(_describe_mistakes(challenge, last[0]))
        warn_journal(journal)
        return
    path = _place(challenge, folder, last)
    source = read_source(path)
    seed = grade_file.fresh_seed() if seed is None else seed
    submission = Submission(str(path), source)
    report = grade_file.grade_file(known_packs, challenge, submission, seed, diagnosed=False)
    grade_file.record_attempt(journal, challenge, report, source, "hunt")
    warn_journal(journal)
    from trainer.report.terminal import show

    # The report hides the mistake and the line, because finding them is the task.
    show(report, sys.stdout, stage="where")
    typer.echo()
    if report.verdict == "passed":
        typer.echo(_describe_mistakes(challenge, last[0]))
        return
    _say("Not repaired yet. Go on, and grade the file again with the same command.")
    file = shlex.quote(report.file)
    typer.echo(f"  attn-drill hunt {challenge.id} --reveal{pack_option}  gives up")
    typer.echo(f"  attn-drill trace {challenge.id} {file}{pack_option}  line by line")
    raise typer.Exit(1)


def _hand_out(
    challenge: Challenge,
    folder: Path,
    seed: int | None,
    last: LastHunt | None,
    journal: Journal,
    pack_option: str,
) -> Path:
    """Write the reference with one or two mistakes into `folder`, and show the next commands.

    Returns:
        The path of the file.
    """
    from random import Random

    from trainer.hunt import planted_mistakes as hunts
    from trainer.packs.mistakes import read_mistakes

    path = folder / hunts.file_name(challenge)
    chosen = hunts.choose_mistakes(
        read_mistakes(challenge),
        pack_reader.solution(challenge),
        last[0] if last else (),
        Random(seed),
    )
    text = hunts.hunt_file_text(challenge, chosen)
    old_file = write_afresh(path, text)
    if old_file is not None and last is not None and _is_untouched(challenge, old_file, last[0]):
        with contextlib.suppress(OSError):
            old_file.unlink()
            old_file = None
    mistake_ids = [mistake.id for mistake in chosen]
    journal.record_hunt(challenge.id, time.time(), mistake_ids, path.resolve())
    many, it = ("one mistake", "it") if len(chosen) == 1 else ("two mistakes", "them")
    _say(f"{path} is the reference of {challenge.id} with {many} in it. Find and repair {it}.")
    if old_file is not None:
        _say(f"The old file is kept as {old_file}.")
    typer.echo(f"  attn-drill hunt {challenge.id} --check{pack_option}   grades it")
    typer.echo(f"  attn-drill hunt {challenge.id} --reveal{pack_option}  gives up")
    return path


def _repair(challenge: Challenge, path: Path, known_packs: KnownPacks, journal: Journal) -> bool:
    """Let the learner repair the file in a session. Return True if another hunt is wanted."""
    from trainer.session.model import SessionRequest
    from trainer.session.run_session import run_session

    hunt = journal.last_hunt(challenge.id)
    hunted = hunt[0] if hunt is not None else ()
    many, it = ("one mistake", "it") if len(hunted) == 1 else ("mistakes", "them")
    task = (
        f"# Bug hunt: {challenge.title}\n\n{path.name} is the reference of {challenge.id} with "
        f"{many} in it. Find {it} and repair {it}; every save is graded.\n\n"
    )
    result = run_session(
        SessionRequest(
            challenge,
            path.resolve(),
            task + prompt_text(challenge),
            seconds_before=0.0,
            par_seconds=challenge.minutes * 60.0 / 2,  # nothing has to be written
            stage="where",  # finding the line is the task
            purpose="hunt",
            packs=known_packs.roots(),
            untouched=read_source(path),
            hunted=hunted,
        ),
        journal,
    )
    state = "repaired" if result.passed else "not repaired yet"
    _say(f"{challenge.id}: {state}, {result.seconds / 60:.0f} min. {path} is as you left it.")
    warn_journal(journal)
    if result.ending == "interrupted":
        raise KeyboardInterrupt
    return result.ending == "next"


def _say(text: str) -> None:
    from trainer.report.question_text import wrapped

    typer.echo(wrapped(text, shutil.get_terminal_size((80, 24)).columns))


def _is_untouched(challenge: Challenge, path: Path, ids: Sequence[str]) -> bool:
    """Return whether a file is still the file that was handed out."""
    from trainer.hunt import planted_mistakes as hunts

    mistakes = hunts.mistakes_by_ids(challenge, ids)
    try:
        return (
            mistakes is not None
            and path.read_bytes() == hunts.hunt_file_text(challenge, mistakes).encode()
        )
    except OSError:
        return False


def _place(challenge: Challenge, folder: Path | None, last: LastHunt) -> Path:
    """Return the path of the file to repair.

    It is in --dir, or else where it was handed out, or else in this folder.

    Raises:
        DrillError: If there is no file.
    """
    from trainer.hunt import planted_mistakes as hunts

    name = hunts.file_name(challenge)
    if folder is not None:
        return folder / name
    if not last[1].exists() and not Path(name).exists():
        raise DrillError(
            f"The hunt's file {last[1]} is gone. `attn-drill hunt {challenge.id}` begins "
            "another hunt, or name the file's folder with --dir."
        )
    here = Path.cwd() / name
    return Path(name) if last[1] == here.resolve() or not last[1].exists() else last[1]


def _describe_mistakes(challenge: Challenge, ids: Sequence[str]) -> str:
    from trainer.report.hunt_text import describe_mistakes

    return describe_mistakes(challenge, ids, shutil.get_terminal_size((80, 24)).columns)
