"""`attn-drill hunt ID`: repair a reference with mistakes in it."""

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
from trainer.app.warn import say, warn_journal
from trainer.cli.parameters import ChallengeId
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.practice.facts import Hunted
from trainer.practice.journal import Journal, default_journal
from trainer.practice.learner_files import read_source, write_afresh


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
    bugs: Annotated[
        int | None,
        typer.Option("--bugs", metavar="N", help="1 to 5 bugs; by default one or two."),
    ] = None,
    minutes: Annotated[
        int | None,
        typer.Option("--minutes", metavar="M", help="The time for the repair, 1 to 240."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Grade the repaired file; a pass shows what was wrong."),
    ] = False,
    why: Annotated[
        bool, typer.Option("--why", help="With --check: name one of the bugs that are left.")
    ] = False,
    reveal: Annotated[bool, typer.Option("--reveal", help="Give up: show what is wrong.")] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch/--no-watch", help="On a terminal, stay and grade every save."),
    ] = True,
) -> None:
    """Find and repair mistakes in a reference: one or two, or the number of --bugs."""
    from trainer.app import grade_file, hunts

    known_packs: KnownPacks = context.obj
    challenge = known_packs.find(challenge_id)
    if check and reveal:
        raise DrillError("--check grades your repair and --reveal gives up; use one of them.")
    if why and not check:
        raise DrillError("--why names a bug that is left; use it together with --check.")
    if seed is not None:
        grade_file.check_seed(seed)
    if bugs is not None:
        hunts.check_bugs(bugs)
    if minutes is not None and not 1 <= minutes <= 240:
        raise DrillError(f"--minutes is {minutes}; it must be 1 to 240.")
    journal = default_journal()
    last = journal.last(Hunted, subject=challenge.id)
    pack_option = known_packs.pack_option(challenge)
    if not check and not reveal:
        from trainer.cli.practise import can_draw_screen

        is_watched = watch and can_draw_screen()
        is_wanted = True
        while is_wanted:
            path = _hand_out(challenge, folder or Path(), seed, bugs, last, journal, pack_option)
            warn_journal(journal)
            is_wanted = is_watched and _repair(challenge, path, minutes, known_packs, journal)
            last, seed = journal.last(Hunted, subject=challenge.id), None
        return
    if last is None:
        warn_journal(journal)
        raise DrillError(
            f"No hunt in {challenge.id} is under way. "
            f"`attn-drill hunt {challenge.id}{pack_option}` begins one."
        )
    if reveal:
        typer.echo(_describe_mistakes(challenge, last.mistakes))
        warn_journal(journal)
        return
    path = _place(challenge, folder, last)
    source = read_source(path)
    seed = grade_file.fresh_seed() if seed is None else seed
    submission = Submission(str(path), source)
    planted = last.mistakes if len(last.mistakes) > 1 or why else ()
    report = grade_file.grade_file(
        known_packs, challenge, submission, seed, diagnosed=bool(planted), planted=planted
    )
    grade_file.record_attempt(journal, challenge, report, source, "hunt")
    warn_journal(journal)
    from trainer.report.terminal import show

    # Without --why, the report hides the mistake and the line, because finding them is the task.
    again = f"attn-drill hunt {challenge.id} --check --why{pack_option}"
    show(report, sys.stdout, stage="cause" if why else "where", how_to_see=f"`{again}`")
    typer.echo()
    if report.verdict == "passed":
        typer.echo(_describe_mistakes(challenge, last.mistakes))
        _offer_follow_up(challenge, path, known_packs, journal)
        return
    say("Not repaired yet. Go on, and grade the file again with the same command.")
    typer.echo(f"  attn-drill hunt {challenge.id} --reveal{pack_option}  gives up")
    raise typer.Exit(1)


def _hand_out(
    challenge: Challenge,
    folder: Path,
    seed: int | None,
    bugs: int | None,
    last: Hunted | None,
    journal: Journal,
    pack_option: str,
) -> Path:
    """Write the reference with mistakes into `folder`, and show the next commands.

    Args:
        challenge: The challenge.
        folder: The folder of the file.
        seed: The seed of the choice, or None.
        bugs: The number of mistakes. None stands for one or two.
        last: The last hunt of this challenge.
        journal: The learner's journal.
        pack_option: The option that names the pack, for commands.

    Returns:
        The path of the file.
    """
    from random import Random

    from trainer.app import hunts as app_hunts
    from trainer.hunt import planted_mistakes as hunts
    from trainer.packs.mistakes import read_mistakes

    path = folder / hunts.file_name(challenge)
    last_ids = last.mistakes if last else ()
    if bugs is None:
        chosen = hunts.choose_mistakes(
            read_mistakes(challenge), pack_reader.solution(challenge), last_ids, Random(seed)
        )
    else:
        chosen = app_hunts.choose_bugs(challenge, bugs, last_ids, seed)
    text = hunts.hunt_file_text(challenge, chosen)
    old_file = write_afresh(path, text)
    if old_file and last and _is_untouched(challenge, old_file, last.mistakes):
        with contextlib.suppress(OSError):
            old_file.unlink()
            old_file = None
    mistake_ids = tuple(mistake.id for mistake in chosen)
    hunt = Hunted(challenge.id, time.time(), mistakes=mistake_ids, path=str(path.resolve()))
    journal.add(hunt)
    many, it = hunts.in_words(len(chosen))
    say(f"{path} is the reference of {challenge.id} with {many} in it. Find and repair {it}.")
    if old_file is not None:
        say(f"The old file is kept as {old_file}.")
    typer.echo(f"  attn-drill hunt {challenge.id} --check{pack_option}   grades it")
    typer.echo(f"  attn-drill hunt {challenge.id} --reveal{pack_option}  gives up")
    return path


def _repair(
    challenge: Challenge,
    path: Path,
    minutes: int | None,
    known_packs: KnownPacks,
    journal: Journal,
) -> bool:
    """Let the learner repair the file in a session. Return True if another hunt is wanted.

    After the repair of several bugs, the challenge that continues with the file comes next.
    """
    from trainer.app.hunts import follow_up_of, hand_out_follow_up, hunt_task
    from trainer.session.model import SessionRequest
    from trainer.session.practice_screen import run_session

    hunt = journal.last(Hunted, subject=challenge.id)
    hunted = hunt.mistakes if hunt is not None else ()
    result = run_session(
        SessionRequest(
            challenge,
            path.resolve(),
            hunt_task(challenge, path.name, len(hunted)) + prompt_text(challenge),
            seconds_before=0.0,
            # Nothing has to be written, so half of the par time is enough.
            par_seconds=challenge.minutes * 60.0 / 2 if minutes is None else minutes * 60.0,
            stage="where",  # finding the line is the task
            purpose="hunt",
            packs=known_packs.roots(),
            untouched=read_source(path),
            hunted=hunted,
        ),
        journal,
    )
    state = "repaired" if result.passed else "not repaired yet"
    say(f"{challenge.id}: {state}, {result.seconds / 60:.0f} min. {path} is as you left it.")
    warn_journal(journal)
    if result.ending == "interrupted":
        raise KeyboardInterrupt
    if result.ending != "next":
        return False
    follow_up = follow_up_of(challenge, known_packs.catalogue().challenges)
    if not result.passed or len(hunted) < 2 or follow_up is None:
        return True
    from trainer.cli.practise import practise

    next_path = hand_out_follow_up(challenge, follow_up, path, journal)
    practise(follow_up, next_path, known_packs, journal)
    return False


def _offer_follow_up(
    challenge: Challenge, path: Path, known_packs: KnownPacks, journal: Journal
) -> None:
    """Write the file of the challenge that continues with the repaired file, and name it."""
    from trainer.app.hunts import follow_up_of, hand_out_follow_up

    follow_up = follow_up_of(challenge, known_packs.catalogue().challenges)
    hunt = journal.last(Hunted, subject=challenge.id)
    if follow_up is None or hunt is None or len(hunt.mistakes) < 2:
        return
    next_path = hand_out_follow_up(challenge, follow_up, path, journal)
    typer.echo()
    say(f"Next: {follow_up.title}. {next_path} is your repaired file, to continue with.")
    folder = "" if next_path.parent == Path() else f" --dir {shlex.quote(str(next_path.parent))}"
    typer.echo(f"  attn-drill start {follow_up.id}{folder}{known_packs.pack_option(follow_up)}")


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


def _place(challenge: Challenge, folder: Path | None, last: Hunted) -> Path:
    """Return the path of the file to repair.

    It is in --dir, or else where it was handed out, or else in this folder.

    Raises:
        DrillError: If there is no file.
    """
    from trainer.hunt import planted_mistakes as hunts

    name = hunts.file_name(challenge)
    if folder is not None:
        return folder / name
    if not Path(last.path).exists() and not Path(name).exists():
        raise DrillError(
            f"The hunt's file {last.path} is gone. `attn-drill hunt {challenge.id}` begins "
            "another hunt, or name the file's folder with --dir."
        )
    here = Path.cwd() / name
    last_path = Path(last.path)
    return Path(name) if last_path == here.resolve() or not last_path.exists() else last_path


def _describe_mistakes(challenge: Challenge, ids: Sequence[str]) -> str:
    from trainer.report.hunt_text import describe_mistakes

    return describe_mistakes(challenge, ids, shutil.get_terminal_size((80, 24)).columns)
