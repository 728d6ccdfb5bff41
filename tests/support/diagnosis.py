"""Helpers for tests of the diagnosis."""

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge
from attn_drill.model.report import Diagnosis, Report
from attn_drill.packs import pack_reader
from tests.support.grading import report_of

SEED = 5
SIZES = {"B": 2, "H": 4, "L": 7, "D": 3, "M": 12}
CHALLENGES = {
    challenge.folder.name: challenge
    for challenge in pack_reader.read_pack(pack_reader.built_in_pack())
}


def diagnosed(
    grader: Grader, challenge: Challenge, source: str, name: str = "answer.py", seed: int = SEED
) -> tuple[Report, Diagnosis]:
    """Grade a wrong submission, and return the report and its diagnosis."""
    report = report_of(grader, challenge, source, name, seed, diagnosed=True)
    assert report.verdict != "passed"
    assert report.diagnosis is not None
    return report, report.diagnosis
