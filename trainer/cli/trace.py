"""`attn-drill trace ID [FILE]`: show the result of each line and the reference's named results."""

from __future__ import annotations

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import CaseNumber, ChallengeId, LearnerFile, SeedOfCases
from trainer.cli.read_answer import read_answer
from trainer.model.submission import Submission
from trainer.practice.journal import default_journal


def trace(
    context: typer.Context,
    challenge_id: ChallengeId,
    file: LearnerFile = None,
    seed: SeedOfCases = None,
    case: CaseNumber = None,
) -> None:
    """Show the shape, dtype and range of the result of each line of your file."""
    from trainer.app import grade_file
    from trainer.app.find_file import asked, find_file

    known_packs: KnownPacks = context.obj
    journal = default_journal()
    challenge, file = asked(challenge_id, file, journal, known_packs)
    path = find_file(challenge, file, journal, known_packs)
    source = read_answer(challenge, path)
    if seed is None:
        seed = grade_file.last_seed(journal, challenge)
    submission = Submission(str(path), source)
    result = grade_file.trace_file(known_packs, challenge, submission, seed, case)
    from trainer.report.literal import console
    from trainer.report.trace_text import render_trace

    console().print(render_trace(result))
