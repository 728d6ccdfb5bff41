"""`attn-drill start`, `reset`, `hint` and `solution`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.answer import hand_out_afresh, handed_out_level
from attn_drill.app.open_packs import settings
from attn_drill.app.warn import say
from attn_drill.cli._command_line import ChallengeId, Desk, StubFolder, Watch, complete_id
from attn_drill.model.errors import DrillError
from attn_drill.packs.pack_reader import other_answers
from attn_drill.packs.stub_levels import Level
from attn_drill.practice.facts import Hinted, Revealed, Reviewed, Started
from attn_drill.practice.progress import ChallengeProgress, path_of, progress_of, since_start
from attn_drill.practice.schedule import item_of

_HINT_LEVEL = typer.Option(help="1 is a nudge, 2 the idea, 3 the step.")
_GIVE_UP = typer.Option("--give-up", help="Show it although the challenge is not passed.")
_STYLE = typer.Option(metavar="NAME", help="Show this other right answer instead.")


def hint(
    context: typer.Context,
    challenge_id: ChallengeId,
    level: Annotated[int | None, _HINT_LEVEL] = None,
) -> None:
    """Show the next hint."""
    desk: Desk = context.obj
    challenge, journal = desk.packs.find(challenge_id), desk.journal
    last = len(challenge.hints)
    if level is not None and not 1 <= level <= last:
        raise DrillError(f"There is no hint {level}; {challenge.id} has hints 1 to {last}.")
    if level is None:
        level = min(since_start(journal.facts(subject=challenge.id)).hint + 1, last)
    journal.add(Hinted(challenge.id, time.time(), level=level))
    text = challenge.hints[level - 1]
    if "\n" in text:  # code
        typer.echo(f"Hint {level} of {last}:\n\n{text}")
    else:
        say(f"Hint {level} of {last}: {text}")
    if level == last:
        option = desk.packs.pack_option(challenge)
        solution = f"`attn-drill solution {challenge.id} --give-up{option}`"
        say(f"That was the last hint. {solution} shows the reference.")


def solution(
    context: typer.Context,
    challenge_id: ChallengeId,
    give_up: Annotated[bool, _GIVE_UP] = False,
    style: Annotated[str | None, _STYLE] = None,
) -> None:
    """Show the reference, or another right answer, after a pass or with --give-up."""
    desk: Desk = context.obj
    challenge, journal = desk.packs.find(challenge_id), desk.journal
    option = desk.packs.pack_option(challenge)
    facts = journal.facts(subject=challenge.id)
    progress = progress_of(facts).get(challenge.id, ChallengeProgress())
    since = since_start(facts)
    if progress.state != "passed" and not since.solution and not give_up:
        raise DrillError(
            f"{challenge.id} is not passed yet ({progress.attempts} attempts). "
            f"Go on with `attn-drill hint {challenge.id}{option}`, or see the reference "
            f"with `attn-drill solution {challenge.id} --give-up{option}`."
        )
    answers = other_answers(challenge)
    by_name = {answer.name: answer for answer in answers}
    if style is not None and style not in by_name:
        names = ", ".join(by_name)
        raise DrillError(f"{challenge.id} has no answer called {style}; it has {names}.")
    answer = answers[0] if style is None else by_name[style]
    # In a review, passes before its start do not count.
    if not since.passed and not since.solution:
        journal.add(Reviewed(item_of(challenge.id), time.time(), rating=1, reason="given up"))
    journal.add(Revealed(challenge.id, time.time()))
    if not sys.stdout.isatty():
        typer.echo(answer.source.rstrip())
        return
    from attn_drill.report.code_text import console
    from attn_drill.report.lesson_text import render_answer
    from attn_drill.report.words import wrapped

    out = console()
    out.print(render_answer(answer, None, None, out.width))
    if len(answers) > 1:
        typer.echo(f"\nOthers: attn-drill solution {challenge.id}{option} --style NAME")
    for other in answers:
        if other is not answer:
            typer.echo(f"  {other.name}\n{wrapped(other.does, out.width, indent='    ')}")


_LEVEL = typer.Option(
    help="How much help: arrange has shuffled lines, guided has steps, blank only signatures; "
    "by default as in your file, else as in config.toml.",
)
_HINTS_FIRST = typer.Option(
    "--hints-first/--no-hints-first",
    help="In the session, show line, question and cause of a failure with one key each; "
    "by default only at the level guided.",
    show_default=False,
)


def start(
    context: typer.Context,
    challenge_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="The challenge, e.g. gqa; without it, a menu.",
            autocompletion=complete_id,
        ),
    ] = None,
    folder: StubFolder = Path("."),
    level: Annotated[Level | None, _LEVEL] = None,
    hints_first: Annotated[bool | None, _HINTS_FIRST] = None,
    watch: Watch = True,
) -> None:
    """Write the stub of a challenge, show its prompt, and stay to grade every save."""
    from attn_drill.cli._practise import can_draw_screen, start_challenge

    if challenge_id is None:
        if not can_draw_screen() or not watch or level is not None or folder != Path("."):
            raise DrillError(
                "Name a challenge, e.g. `attn-drill start sdpa`; `attn-drill list` shows all."
            )
        from attn_drill.cli._menu import menu

        menu(context)
        return
    desk: Desk = context.obj
    challenge = desk.packs.find(challenge_id)
    path = folder / challenge.file_name
    start_challenge(challenge, path, desk, level, watch=watch, hints_first=hints_first)


def reset(
    context: typer.Context,
    challenge_id: ChallengeId,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="By default this folder, or that of `start`.")
    ] = None,
    level: Annotated[Level | None, _LEVEL] = None,
) -> None:
    """Write a fresh stub, and keep the old file under another name."""
    desk: Desk = context.obj
    challenge, journal = desk.packs.find(challenge_id), desk.journal
    path = (folder or Path()) / challenge.file_name
    started = path_of(journal.facts(Started, subject=challenge.id))
    if folder is None and started is not None and started.exists() and not path.exists():
        path = started
    level = level or handed_out_level(challenge, journal) or settings().level
    old_file = hand_out_afresh(challenge, path, journal, level)
    kept = f" Your old file is kept as {old_file}." if old_file else ""
    typer.echo(f"{path} is a fresh stub of the level {level}.{kept}")
