"""`attn-drill trace ID [FILE]`: show the result of each line and the reference's named results."""

from __future__ import annotations

import sys

import typer

from trainer.app.packs import KnownPacks
from trainer.cli.parameters import CaseNumber, ChallengeId, LearnerFile, SeedOfCases
from trainer.core.words import Submission
from trainer.practice.files import read_source
from trainer.practice.journal import default_journal


def trace(
    context: typer.Context,
    challenge_id: ChallengeId,
    file: LearnerFile = None,
    seed: SeedOfCases = None,
    case: CaseNumber = None,
) -> None:
    """Show the shape, dtype and range of what each line of your file makes."""
    from trainer.app import grading
    from trainer.app.learner_file import learner_file

    known_packs: KnownPacks = context.obj
    challenge = known_packs.find(challenge_id)
    journal = default_journal()
    path = learner_file(challenge, file, journal, known_packs)
    source = read_source(path)
    if seed is None:
        seed = grading.last_seed(journal, challenge)
    found = grading.trace_file(known_packs, challenge, Submission(str(path), source), seed, case)
    from trainer.display.trace import show_trace

    show_trace(found, sys.stdout)
