"""Grade sources in the tests' own process."""

from weakref import WeakKeyDictionary

from attn_drill.diagnosis.diagnose import Diagnoser
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.report import Report

_diagnosers: WeakKeyDictionary[Grader, Diagnoser] = WeakKeyDictionary()


def diagnoser_of(grader: Grader) -> Diagnoser:
    """Return the diagnoser of a grader; what it knows of a case set serves all tests."""
    if grader not in _diagnosers:
        _diagnosers[grader] = Diagnoser(grader.workers)
    return _diagnosers[grader]


def report_of(
    grader: Grader,
    challenge: Challenge,
    source: str,
    name: str,
    seed: int,
    only: int | None = None,
    *,
    diagnosed: bool = False,
) -> Report:
    """Grade a source under one seed and return its report."""
    judgement = grader.grade(challenge, Submission(name, source), seed, only)
    return diagnoser_of(grader).report(judgement) if diagnosed else judgement.report
