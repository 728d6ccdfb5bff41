"""`attn-drill trace` shows the result of each line in a case, `attn-drill repro` a debugger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.answer import LearnerAnswer, find_answer
from attn_drill.app.warn import say_json
from attn_drill.cli.parameters import AsJson, ChallengeId, Desk, LearnerFile
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.practice.learner_files import read_source

# A script without this first line is not overwritten.
_MARK = "# Written by `attn-drill repro`."
_TRACED_SEED = typer.Option(min=0, help="The seed; by default that of your last attempt.")
_TRACED_CASE = typer.Option(help="The number of the case; by default the first that fails.")


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
    from attn_drill.report.literal import console
    from attn_drill.report.trace_text import render_trace

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
