"""`attn-drill check`, `trace` and `repro`."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attn_drill.app.answer import LearnerAnswer, find_answer
from attn_drill.app.open_packs import KnownPacks, settings
from attn_drill.app.warn import say, say_json
from attn_drill.cli._ask import width
from attn_drill.cli._command_line import (
    AsJson,
    ChallengeId,
    Desk,
    Html,
    LearnerFile,
    PackCommand,
    check_page_name,
    complete_id,
    write_page,
)
from attn_drill.model.challenge import DEFAULT_LIMITS
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Purpose
from attn_drill.practice.learner_files import read_source

if TYPE_CHECKING:
    from attn_drill.model.report import Lesson, Report
    from attn_drill.report.wording import Stage

# Options of `check`.
_ID = typer.Argument(
    metavar="[ID]",
    help="The challenge, e.g. gqa; by default the one that you started last.",
    autocompletion=complete_id,
    show_default=False,
)
_SEED = typer.Option(help="Use the cases of this seed; by default fresh cases.")
_CASE = typer.Option(help="Use only the case with this number.")
_WHY = typer.Option(
    "--why/--no-why",
    help="Name the likely mistake, or hide it, as an interview and a hunt do.",
    show_default=False,
)
_HINTS_FIRST = typer.Option(
    "--hints-first/--no-hints-first",
    help="Show the place first, then with one key each the line, a question and the cause.",
    show_default=False,
)
_TIME = typer.Option(
    "--time-limit",
    min=0.01,
    max=86_400,
    metavar="S",
    help="CPU seconds for all cases; other load on the machine does not count.",
)
_MEMORY = typer.Option(
    "--memory-limit", min=16, max=1 << 20, metavar="MIB", help="Memory beyond torch's own."
)

# A script without this first line is not overwritten.
_MARK = "# Written by `attn-drill repro`."
# Options of `trace` and `repro`.
_TRACED_SEED = typer.Option(min=0, help="The seed; by default that of your last attempt.")
_TRACED_CASE = typer.Option(help="The number of the case; by default the first that fails.")


class CheckCommand(PackCommand):
    """The command `check`. Its errors have the form of a report."""

    def error_as_json(self, sentence: str) -> str:
        from attn_drill.model.report import error_to_json

        return error_to_json(sentence)


@dataclass(frozen=True)
class _Output:
    """How a report is shown."""

    stage: Stage  # the most that the report tells
    html: Path | None
    as_json: bool
    in_stages: bool  # wait for a key before each part


def check(
    context: typer.Context,
    challenge_id: Annotated[str | None, _ID] = None,
    file: LearnerFile = None,
    seed: Annotated[int | None, _SEED] = None,
    case: Annotated[int | None, _CASE] = None,
    why: Annotated[bool | None, _WHY] = None,
    hints_first: Annotated[bool | None, _HINTS_FIRST] = None,
    html: Html = None,
    as_json: AsJson = False,
    time_limit: Annotated[float, _TIME] = DEFAULT_LIMITS.seconds,
    memory_limit: Annotated[int, _MEMORY] = DEFAULT_LIMITS.memory_mib,
) -> None:
    """Grade your file on hidden cases and show what differs, or run the tests in test_ID.py."""
    # 1. Start: cli/entry.py has started a grading server, which imports torch meanwhile.
    from attn_drill.app import grade_file
    from attn_drill.app.tests_file import find_tests
    from attn_drill.server.messages import Grade

    if html is not None:
        check_page_name(html)
    desk: Desk = context.obj
    journal, packs = desk.journal, desk.packs
    # 2. Read the file.
    if tests := find_tests(challenge_id, file, packs):
        raise typer.Exit(_check_tests(tests, seed, packs, case or html, as_json=as_json))
    answer = find_answer(challenge_id, file, journal, packs)
    seed = grade_file.fresh_seed() if seed is None else seed
    grade_file.check_seed(seed)
    hunted = grade_file.hunted_mistakes(journal, answer.challenge, answer.path)
    # The report says how many of several bugs are left. Of a single bug, only --why says more.
    planted = hunted if len(hunted) > 1 or why else ()
    request = Grade(
        answer.challenge.id,
        answer.submission,
        seed,
        case,
        seconds=time_limit,
        memory_mib=memory_limit,
        planted=planted,
        is_diagnosed=not hunted or bool(planted),  # a hunt hides the only mistake
    )
    # 3 to 7. Prepare, run, expect, judge and diagnose: the work of the server.
    with grade_file.graded_file(packs, request) as (report, lesson):
        # 8. Show the report, and record the attempt. A single case is no attempt.
        grade = ""
        if case is None:
            purpose: Purpose = "hunt" if hunted else "practice"
            grade = grade_file.record_attempt(
                journal, answer.challenge, report, answer.source, purpose
            )
        in_stages = bool(settings().hints_first if hints_first is None else hints_first)
        output = _Output(stage_of(why, is_hunt=bool(hunted)), html, as_json, in_stages)
        _show(answer, report, output, packs.pack_option(answer.challenge))
        # 9. Teach.
        if hunted and not as_json:
            _end_hunt(answer, report, hunted, desk)
        elif report.verdict == "passed" and case is None and not as_json:
            _teach(answer, lesson, grade, desk)
    raise typer.Exit(0 if report.verdict == "passed" else 1)


def _check_tests(
    tests: LearnerAnswer, seed: int | None, packs: KnownPacks, unfit: object, *, as_json: bool
) -> int:
    """Run a file of tests, show what it catches, and return the exit code.

    Args:
        unfit: the value of an option that a file of tests does not have, or None.
    """
    if unfit is not None:
        raise DrillError("A file of tests has no cases and no page. Leave out --case and --html.")
    from attn_drill.app.grade_file import check_seed, fresh_seed
    from attn_drill.app.tests_file import grade_tests

    seed = fresh_seed() if seed is None else seed
    check_seed(seed)
    report = grade_tests(packs, tests, seed)
    if as_json:
        counts = {"passed": report.passed, "caught": len(report.caught)}
        say_json({"schema": "attn-drill.tests/1", **counts, **asdict(report)})
    else:
        from attn_drill.report.code_text import console
        from attn_drill.report.results_text import render_tests

        out = console()
        out.print(render_tests(report, out.width))
    return 0 if report.passed else 1


def stage_of(why: bool | None, *, is_hunt: bool) -> Stage:
    """Return the most that a report tells. To find the line is the task of a hunt."""
    if why or (why is None and not is_hunt):
        return "cause"
    return "where" if is_hunt else "line"


def _show(answer: LearnerAnswer, report: Report, output: _Output, option: str) -> None:
    file = "" if answer.is_default else None
    if output.html is not None:
        from attn_drill.report.pages import report_page

        write_page(output.html, report_page(report, output.stage, file, option))
    if output.as_json:
        from attn_drill.model.report import to_json

        typer.echo(to_json(report))
        return
    from attn_drill.report.terminal import show

    wait = wait_for_key if output.in_stages else None
    show(report, sys.stdout, stage=output.stage, file=file, options=option, wait=wait)
    if report.unfinished:
        say(f"Not counted as an attempt: the file {report.unfinished}.")
    if output.html is not None:
        say(f"\n{output.html} has the report as a page.")


def _end_hunt(answer: LearnerAnswer, report: Report, hunted: tuple[str, ...], desk: Desk) -> None:
    """Show the repaired mistakes. After several, hand out the challenge that continues."""
    from attn_drill.app.hunts import follow_ups_of, hand_out_follow_up
    from attn_drill.report.question_text import describe_mistakes

    challenge, packs = answer.challenge, desk.packs
    if report.verdict != "passed":
        give_up = f"`attn-drill hunt {challenge.id} --reveal{packs.pack_option(challenge)}`"
        say(f"\nNot repaired yet. Go on, and grade the file again. {give_up} gives up.")
        return
    typer.echo("\n" + describe_mistakes(challenge, hunted, width()))
    follow_ups = follow_ups_of(challenge, packs.catalogue().challenges)
    if len(hunted) == 1 or not follow_ups:
        return
    follow_up = follow_ups[0]
    path = hand_out_follow_up(challenge, follow_up, answer.path, desk.journal)
    say(f"\nNext: {follow_up.title}. {path} is your repaired file, to continue with.")
    folder = "" if path.parent == Path() else f" --dir {shlex.quote(str(path.parent))}"
    typer.echo(f"  attn-drill start {follow_up.id}{folder}{packs.pack_option(follow_up)}")


def _teach(answer: LearnerAnswer, lesson: Callable[[], Lesson], grade: str, desk: Desk) -> None:
    """Show what the pass brings. On a terminal, also measure the answer."""
    from attn_drill.packs.question_bank import read_follow_ups
    from attn_drill.practice.schedule import next_steps

    challenge, packs = answer.challenge, desk.packs
    challenges = packs.catalogue().challenges
    say("\n" + next_steps(challenge, challenges, desk.journal, time.time(), grade))
    if is_terminal():
        from attn_drill.report.code_text import console
        from attn_drill.report.lesson_text import render_notes

        sys.stdout.flush()
        try:
            notes = render_notes(lesson(), answer.source)
            console().print("", notes, sep="\n")
        except (DrillError, GraderError) as error:  # the verdict and the exit code stay
            say(f"The answer could not be measured: {error}")
    questions, _ = read_follow_ups((challenge,), "en")
    if questions:
        option = packs.pack_option(challenge)
        typer.echo(f"\nfollow-ups       attn-drill quiz --follow-up {challenge.id}{option}")


def is_terminal() -> bool:
    """Return whether a person reads the output."""
    return sys.stdout.isatty()


def wait_for_key(following: str) -> bool:
    """Wait for a key before the next part of a report. Return False if the reader stops.

    Without a terminal nobody can press a key, so all parts are shown.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    typer.echo(f"\nAny key shows {following}; q stops. ", nl=False)
    key = typer.getchar()
    typer.echo()
    return key.lower() not in ("q", "\x1b")


def trace(
    context: typer.Context,
    challenge_id: ChallengeId,
    file: LearnerFile = None,
    seed: Annotated[int | None, _TRACED_SEED] = None,
    case: Annotated[int | None, _TRACED_CASE] = None,
    as_json: AsJson = False,
) -> None:
    """Show the shape, dtype and range of the result of each line of your file."""
    from attn_drill.app.grade_file import last_seed, trace_file

    desk: Desk = context.obj
    answer = find_answer(challenge_id, file, desk.journal, desk.packs)
    if seed is None:
        seed = last_seed(desk.journal, answer.challenge)
    traced = trace_file(desk.packs, answer.challenge, answer.submission, seed, case)
    if as_json:
        say_json(traced)
        return
    from attn_drill.report.code_text import console
    from attn_drill.report.terminal import render_trace

    console().print(render_trace(traced))


def repro(
    context: typer.Context,
    challenge_id: ChallengeId,
    file: LearnerFile = None,
    seed: Annotated[int | None, _TRACED_SEED] = None,
    case: Annotated[int | None, _TRACED_CASE] = None,
) -> None:
    """Write a script that calls your file with the inputs and weights of the failing case."""
    from attn_drill.app.grade_file import last_seed, trace_file

    desk: Desk = context.obj
    answer = find_answer(challenge_id, file, desk.journal, desk.packs)
    if seed is None:
        seed = last_seed(desk.journal, answer.challenge)
    path = answer.path.resolve()
    if path.suffix != ".py":
        raise DrillError(f"{path} is a notebook. Save your answer as a Python file, and name it.")
    number = trace_file(desk.packs, answer.challenge, answer.submission, seed, case).number
    script = path.with_name(f"{path.stem}_repro.py")
    if script.exists() and not read_source(script).startswith(_MARK):
        raise DrillError(
            f"{script} exists and was not written by `attn-drill repro`. Move it away first."
        )
    try:
        script.write_text(_script(answer, path, seed, number), encoding="utf-8")
    except OSError as error:
        raise DrillError(
            f"{script} cannot be written: {error.strerror}. "
            f"Copy {path.name} to a folder that you can write to, and name the copy."
        ) from None
    typer.echo(f"Case {number} with seed {seed} is in {script}.")
    typer.echo(f"Set a breakpoint in {path.name} and run the script: python -m pdb {script}")


def _script(answer: LearnerAnswer, path: Path, seed: int, number: int) -> str:
    challenge = answer.challenge
    arguments = [repr(challenge.id), repr(str(path)), f"seed={seed}", f"number={number}"]
    root = challenge.folder.parent.parent
    if root != pack_reader.built_in_pack():
        arguments.append(f"pack={str(root)!r}")
    return f"""{_MARK}
# Case {number} of {challenge.id} with seed {seed}: your {path.name} with the weights of the case.
# Set a breakpoint in {path.name}, and run: python -m pdb {path.stem}_repro.py
from attn_drill.grading.open_case import open_case

case = open_case({", ".join(arguments)})
print(case.case.name, dict(case.case.sizes))
outputs = case.run()
case.compare(outputs)
"""
