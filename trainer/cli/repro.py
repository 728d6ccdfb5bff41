"""`attn-drill repro ID [FILE]`: write a failing case as a short script for a debugger."""

from __future__ import annotations

from pathlib import Path

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import CaseNumber, ChallengeId, LearnerFile, SeedOfCases
from trainer.cli.read_answer import read_answer
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.submission import Submission
from trainer.practice.journal import default_journal

_MARK = "# Written by `attn-drill repro`."


def repro(
    context: typer.Context,
    challenge_id: ChallengeId,
    file: LearnerFile = None,
    seed: SeedOfCases = None,
    case: CaseNumber = None,
) -> None:
    """Write a script that calls your file with the inputs and weights of the failing case."""
    from trainer.app import grade_file
    from trainer.app.find_file import asked, find_file

    known_packs: KnownPacks = context.obj
    journal = default_journal()
    challenge, file = asked(challenge_id, file, journal, known_packs)
    path = find_file(challenge, file, journal, known_packs).resolve()
    source = read_answer(challenge, path)
    if path.suffix != ".py":
        raise DrillError(f"{path} is a notebook. Save your answer as a Python file, and name it.")
    if seed is None:
        seed = grade_file.last_seed(journal, challenge)
    number = case or _failing_case(known_packs, challenge, Submission(str(path), source), seed)
    script = path.with_name(f"{path.stem}_repro.py")
    text = _script(challenge, path, seed, number, _pack_of(known_packs, challenge))
    try:
        if script.exists():
            old_text = script.read_text(encoding="utf-8", errors="replace")
            if not old_text.startswith(_MARK):
                raise DrillError(
                    f"{script} exists and was not written by `attn-drill repro`. "
                    "Move it away first."
                )
        script.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DrillError(
            f"{script} cannot be written: {error.strerror}. "
            f"Copy {path.name} to a folder that you can write to, and name the copy."
        ) from None
    typer.echo(f"Case {number} with seed {seed} is in {script}.")
    typer.echo(f"Set a breakpoint in {path.name} and run the script: python -m pdb {script}")


def _failing_case(
    known_packs: KnownPacks, challenge: Challenge, submission: Submission, seed: int
) -> int:
    """Return the number of the first case that fails.

    Raises:
        DrillError: if no case fails.
    """
    from trainer.app.grade_file import grade_file

    report = grade_file(known_packs, challenge, submission, seed)
    numbers = [outcome.number for outcome in report.outcomes if outcome.status == "failed"]
    number = next((number for number in numbers if number is not None), None)
    if number is None:
        fails = "passes" if report.verdict == "passed" else "fails without a case"
        raise DrillError(
            f"{submission.name} {fails} with seed {seed}; nothing fails there in a case. "
            "Name a case with `--case N` to step through that case."
        )
    return number


def _pack_of(known_packs: KnownPacks, challenge: Challenge) -> Path | None:
    """Return the folder of the pack if the script must name it to find the challenge."""
    if not known_packs.pack_option(challenge):
        return None
    return challenge.folder.parent.parent


def _script(challenge: Challenge, path: Path, seed: int, number: int, pack: Path | None) -> str:
    arguments = [repr(challenge.id), repr(str(path)), f"seed={seed}", f"number={number}"]
    if pack is not None:
        arguments.append(f"pack={str(pack)!r}")
    return f"""{_MARK}
# Case {number} of {challenge.id} with seed {seed}: your {path.name} with the weights of the case.
# Set a breakpoint in {path.name}, and run: python -m pdb {path.stem}_repro.py
from trainer.grading.open_case import open_case

case = open_case({", ".join(arguments)})
print(case.case.name, dict(case.case.sizes))
outputs = case.run()
case.compare(outputs)
"""
