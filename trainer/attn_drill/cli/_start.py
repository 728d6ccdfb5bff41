"""`attn-drill start`, `reset`, `hint`, `solution` and `hunt`."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.answer import hand_out_afresh, handed_out_level, prompt_text
from attn_drill.app.open_packs import settings
from attn_drill.app.warn import say
from attn_drill.cli._ask import width
from attn_drill.cli._command_line import ChallengeId, Desk, StubFolder, Watch, complete_id
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.packs.pack_reader import other_answers
from attn_drill.packs.stub_levels import Level
from attn_drill.practice.facts import Hinted, Hunted, Revealed, Reviewed, Started
from attn_drill.practice.learner_files import read_source
from attn_drill.practice.progress import ChallengeProgress, path_of, progress_of, since_start
from attn_drill.practice.schedule import item_of

# Options of `start` and `reset`.
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
_TESTS = typer.Option("--tests", help="Write tests instead: for right and for wrong answers.")
# Options of `hint` and `solution`.
_HINT_LEVEL = typer.Option(help="1 is a nudge, 2 the idea, 3 the step.")
_GIVE_UP = typer.Option("--give-up", help="Show it although the challenge is not passed.")
_STYLE = typer.Option(metavar="NAME", help="Show this other right answer instead.")
# Options of `hunt`.
_SEED = typer.Option(min=0, help="Draw the same mistake again.")
_BUGS = typer.Option(min=1, max=5, help="The number of bugs; by default one or two.")
_MINUTES = typer.Option(min=1, max=240, help="The time for the repair.")
_REVEAL = typer.Option("--reveal", help="Give up: show what is wrong.")


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
    tests: Annotated[bool, _TESTS] = False,
    watch: Watch = True,
) -> None:
    """Write the stub of a challenge, show its prompt, and stay to grade every save."""
    from attn_drill.cli._practise import can_draw_screen, start_challenge

    if challenge_id is None:
        if not can_draw_screen() or not watch or level is not None or folder != Path("."):
            raise DrillError(
                "Name a challenge, e.g. `attn-drill start sdpa`; `attn-drill list` shows all."
            )
        from attn_drill.cli._practise import menu

        menu(context)
        return
    desk: Desk = context.obj
    challenge = desk.packs.find(challenge_id)
    if tests:
        _start_tests(challenge, folder, level, desk)
        return
    path = folder / challenge.file_name
    start_challenge(challenge, path, desk, level, watch=watch, hints_first=hints_first)


def _start_tests(challenge: Challenge, folder: Path, level: Level | None, desk: Desk) -> None:
    """Write the file for tests of a challenge, and show the task and the next commands."""
    from attn_drill.app.tests_file import hand_out_tests
    from attn_drill.cli._practise import show_prompt

    if level is not None:
        raise DrillError(f"--tests writes a file for tests, which has no level {level}.")
    path, was_there = hand_out_tests(challenge, folder)
    show_prompt(prompt_text(challenge))
    typer.echo()
    if was_there:
        say(f"{path} is already there and stays unchanged.")
    else:
        say(
            f"{path} is for your tests of an implementation of this task. They must pass on every "
            "right answer and fail on every wrong answer. Test only what the task promises."
        )
    option = desk.packs.pack_option(challenge)
    file = shlex.quote(str(path))
    typer.echo(f"  attn-drill check {challenge.id} {file}{option}    shows the mistakes they catch")


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
    from attn_drill.report.wording import wrapped

    out = console()
    out.print(render_answer(answer, None, None, out.width))
    if len(answers) > 1:
        typer.echo(f"\nOthers: attn-drill solution {challenge.id}{option} --style NAME")
    for other in answers:
        if other is not answer:
            typer.echo(f"  {other.name}\n{wrapped(other.does, out.width, indent='    ')}")


def hunt(
    context: typer.Context,
    challenge_id: ChallengeId,
    folder: StubFolder = Path("."),
    seed: Annotated[int | None, _SEED] = None,
    bugs: Annotated[int | None, _BUGS] = None,
    minutes: Annotated[int | None, _MINUTES] = None,
    reveal: Annotated[bool, _REVEAL] = False,
    watch: Watch = True,
) -> None:
    """Find and repair mistakes in a reference: one or two, or the number of --bugs."""
    from attn_drill.cli._practise import can_draw_screen
    from attn_drill.report.question_text import describe_mistakes

    desk: Desk = context.obj
    challenge = desk.packs.find(challenge_id)
    if reveal:
        last = desk.journal.last(Hunted, subject=challenge.id)
        if last is None:
            option = desk.packs.pack_option(challenge)
            raise DrillError(
                f"No hunt in {challenge.id} is under way. "
                f"`attn-drill hunt {challenge.id}{option}` begins one."
            )
        typer.echo(describe_mistakes(challenge, last.mistakes, width()))
        return
    path = _hand_out(challenge, folder, seed, bugs, desk)
    while watch and can_draw_screen() and _repair(challenge, path, minutes, desk):
        path = _hand_out(challenge, folder, None, bugs, desk)


def _hand_out(
    challenge: Challenge, folder: Path, seed: int | None, bugs: int | None, desk: Desk
) -> Path:
    """Write the reference with mistakes into `folder`, and show the next commands."""
    from attn_drill.app.hunts import choose_bugs
    from attn_drill.exercises.altered_reference import in_words, write_hunt

    journal = desk.journal
    last = journal.last(Hunted, subject=challenge.id)
    chosen = choose_bugs(challenge, bugs, last.mistakes if last else (), seed)
    path, old_file = write_hunt(challenge, chosen, folder, journal)
    many, it = in_words(len(chosen))
    say(f"{path} is the reference of {challenge.id} with {many} in it. Find and repair {it}.")
    if old_file is not None:
        say(f"The old file is kept as {old_file}.")
    option = desk.packs.pack_option(challenge)
    file = shlex.quote(str(path))
    typer.echo(f"  attn-drill check {challenge.id} {file}{option}   grades it")
    typer.echo(f"  attn-drill hunt {challenge.id} --reveal{option}   gives up")
    return path


def _repair(challenge: Challenge, path: Path, minutes: int | None, desk: Desk) -> bool:
    """Let the learner repair the file in a session. Return whether another hunt is wanted.

    After the repair of several bugs, the challenge that continues with the file comes next.
    """
    from attn_drill.app.hunts import follow_ups_of, hand_out_follow_up, hunt_task
    from attn_drill.cli._practise import practise
    from attn_drill.session import SessionRequest, run_session

    packs, journal = desk.packs, desk.journal
    hunt = journal.last(Hunted, subject=challenge.id)
    hunted = hunt.mistakes if hunt is not None else ()
    request = SessionRequest(
        challenge,
        path.resolve(),
        hunt_task(challenge, path.name, len(hunted)) + prompt_text(challenge),
        seconds_before=0.0,
        # Nothing has to be written, so half of the par time is enough.
        par_seconds=challenge.minutes * 60.0 / 2 if minutes is None else minutes * 60.0,
        stage="where",  # finding the line is the task
        purpose="hunt",
        packs=packs.roots(),
        untouched=read_source(path),
        hunted=hunted,
    )
    result = run_session(request, journal)
    state = "repaired" if result.passed else "not repaired yet"
    say(f"{challenge.id}: {state}, {result.seconds / 60:.0f} min. {path} is as you left it.")
    if result.ending == "interrupted":
        raise KeyboardInterrupt
    if result.ending != "next":
        return False
    follow_ups = follow_ups_of(challenge, packs.catalogue().challenges)
    if not result.passed or len(hunted) < 2 or not follow_ups:
        return True
    next_path = hand_out_follow_up(challenge, follow_ups[0], path, journal)
    practise(follow_ups[0], next_path, desk)
    return False
