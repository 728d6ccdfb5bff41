"""Tests of the distinction of mistakes with equal outputs."""

from fractions import Fraction

import pytest

from attn_drill.diagnosis.patched_references import Ids
from attn_drill.diagnosis.same_failure import SameFailure, failures
from attn_drill.grading.grader import Grader
from attn_drill.model.report import Outcome, Report
from tests.support.diagnosis import CHALLENGES
from tests.support.judged import judged, with_mistakes

SDPA = CHALLENGES["sdpa"]


def no_loops(source: str | None) -> frozenset[Fraction]:
    """Return no growth ratios."""
    return frozenset()


@pytest.mark.parametrize("mistake", ["keys-detached", "values-detached"])
def test_mistakes_are_distinguished_by_their_gradients(grader: Grader, mistake: str) -> None:
    """Both mistakes give right outputs and fail the same check."""
    answer = judged(grader, SDPA, with_mistakes(SDPA, mistake))
    assert answer.first.check == "gradients"
    same_failure = SameFailure(
        answer.agreement, answer.judgement.report, answer.first, answer.reruns.grade, no_loops
    )
    candidates = [("keys-detached",), ("queries-detached",), ("values-detached",)]
    assert same_failure.only_match(candidates) == (mistake,)
    assert same_failure.only_match([("queries-detached",)]) == ()


def test_search_in_workers_ends_with_two_equal_candidates(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker takes as long as a check, and a third candidate cannot change the answer."""
    answer = judged(grader, SDPA, with_mistakes(SDPA, "keys-detached"))
    run: list[Ids] = []

    def fails_same_checks(self: SameFailure, ids: Ids) -> bool:
        run.append(ids)
        return len(run) > 1  # the first candidate fails other checks

    monkeypatch.setattr(SameFailure, "_fails_same_checks", fails_same_checks)
    monkeypatch.setattr(SameFailure, "_has_same_message", lambda self, ids: True)
    same_failure = SameFailure(
        answer.agreement, answer.judgement.report, answer.first, answer.reruns.grade, no_loops
    )
    candidates = [("keys-detached",), ("values-detached",), ("no-scale",), ("queries-detached",)]
    assert same_failure._only_in_workers(candidates) == ()
    assert run == candidates[:3]
    run.clear()
    assert same_failure._only_in_workers(candidates[:2]) == ("values-detached",)


def test_failures_are_known_by_case_number_or_by_message() -> None:
    """A failure without a case has its message. Passed checks are left out."""
    outcomes = (
        Outcome("interface", "failed", "no argument `mask`"),
        Outcome("values", "failed", "3 entries differ", "a", 2),
        Outcome("masks", "passed", "", "b", 3),
    )
    report = Report("c", "f.py", 1, "failed", outcomes)
    interface = ("interface", None, "no argument `mask`")
    assert failures(report) == {interface, ("values", 2, "")}
