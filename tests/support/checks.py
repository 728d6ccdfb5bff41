"""Helpers for tests of the checks: grade changed references of gqa."""

import re

from attn_drill.grading.grader import Grader
from attn_drill.model.report import Outcome, Report
from attn_drill.packs import pack_reader
from tests.support.grading import report_of

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
SOLUTION = pack_reader.solution(GQA)

# Bugs of gqa in separate lines: each bug can be present with or without the others.
BUGS = {
    "a mask raises": (
        "if mask is not None:",
        "if mask is not None:\n            raise RuntimeError",
    ),
    "a long input raises": (
        "batch, length, d_model = x.shape",
        "batch, length, d_model = x.shape\n        assert length < 7",
    ),
    "the constructor raises": (
        "self.num_heads = num_heads\n",
        "self.num_heads = 6 // (num_kv_heads - 1)\n        self.num_heads = num_heads\n",
    ),
    "no scale": ("scores = scores / math.sqrt(self.head_dim)", ""),
    "no dropout": ("weights = self.dropout(weights)", ""),
    "a soft mask": ('float("-inf")', "-150.0"),
    "no gradient": ("weights @ v", "weights @ v.detach()"),
    "no refusal": ("if d_model % num_heads != 0:", "if False:"),
    "library attention": (
        "scores = q @ k.transpose(-2, -1)",
        "nn.functional.scaled_dot_product_attention(q, k, v)\n"
        "        scores = q @ k.transpose(-2, -1)",
    ),
}


def grade(grader: Grader, *changes: tuple[str, str]) -> Report:
    """Grade the reference of gqa with replacements, each of which must apply."""
    source = SOLUTION
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return report_of(grader, GQA, source, "gqa.py", 5)


def failed_outcomes(report: Report) -> list[Outcome]:
    """Return the failed outcomes of a report."""
    return [outcome for outcome in report.outcomes if outcome.status == "failed"]


def passed_checks(report: Report) -> set[str]:
    """Return the names of the checks that passed."""
    return {check for check, status in report.statuses().items() if status == "passed"}


def assert_fails_first(report: Report, check: str, says: str) -> None:
    """Assert that a check fails first, and that the pattern `says` matches one of its messages."""
    assert report.verdict != "passed"
    failure = report.first_failure()
    assert failure is not None
    assert failure.check == check, failure
    messages = [outcome.message for outcome in failed_outcomes(report) if outcome.check == check]
    assert any(re.search(says, message) for message in messages), messages
