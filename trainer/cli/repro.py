"""`attn-drill repro ID [FILE]`: write the failing case as a script for any debugger."""

from __future__ import annotations

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import CaseNumber, ChallengeId, LearnerFile, SeedOfCases
from trainer.cli.read_answer import read_answer
from trainer.model.errors import DrillError
from trainer.model.submission import Submission
from trainer.practice.journal import default_journal


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
    if seed is None:
        seed = grade_file.last_seed(journal, challenge)
    submission = Submission(str(path), source)
    script = path.with_name(f"{path.stem}_repro.py")
    tensors = path.with_name(f"{path.stem}_repro.safetensors")
    failing_case = grade_file.failing_case(known_packs, challenge, submission, seed, case, tensors)
    if failing_case is None:
        raise DrillError(
            f"{path} passes with seed {seed}; nothing fails there. "
            "Name a case with `--case N` to step through that case."
        )
    mark = failing_case.script.partition("\n")[0]
    try:
        if script.exists():
            old_text = script.read_text(encoding="utf-8", errors="replace")
            if not old_text.startswith(mark):
                raise DrillError(
                    f"{script} exists and was not written by `attn-drill repro`. "
                    "Move it away first."
                )
        tensors.write_bytes(failing_case.tensors)
        script.write_text(failing_case.script, encoding="utf-8")
    except OSError as error:
        raise DrillError(
            f"{script} cannot be written: {error.strerror}. "
            f"Copy {path.name} to a folder that you can write to, and name the copy."
        ) from None
    case_number = failing_case.case_number
    typer.echo(
        f"Case {case_number} with seed {seed} is in {script}, its tensors in {tensors.name}."
    )
    typer.echo(f"Set a breakpoint in {path.name} and run the script: python -m pdb {script}")
