"""Tests of the comparison of two failures."""

import pytest

from attn_drill.diagnosis._mistake_search import MistakeSearch, failures
from attn_drill.diagnosis.patched_references import Ids
from attn_drill.grading.grader import Grader
from attn_drill.model.report import Outcome, Report
from tests.support.diagnosis import CHALLENGES
from tests.support.grading import judged, with_mistakes

SDPA = CHALLENGES["sdpa"]


def search_for(grader: Grader, mistake: str) -> MistakeSearch:
    """Return the search for the mistake of an answer that fails the check of gradients."""
    answer = judged(grader, SDPA, with_mistakes(SDPA, mistake))
    assert answer.first.check == "gradients"
    return MistakeSearch(
        answer.agreement,
        answer.judgement,
        answer.first,
        answer.reruns.grade,
        lambda source: frozenset(),
    )


@pytest.mark.parametrize("mistake", ["keys-detached", "values-detached"])
def test_mistakes_are_distinguished_by_their_gradients(grader: Grader, mistake: str) -> None:
    """Both mistakes give right outputs and fail the same check."""
    search = search_for(grader, mistake)
    candidates = [("keys-detached",), ("queries-detached",), ("values-detached",)]
    assert search.only_match(candidates) == (mistake,)
    assert search.only_match([("queries-detached",)]) == ()


def test_search_in_workers_ends_with_two_equal_candidates(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker takes as long as a check, and a third candidate cannot change the answer."""
    search = search_for(grader, "keys-detached")
    monkeypatch.setattr(MistakeSearch, "_fails_alike", lambda self, ids: True)
    run: list[Ids] = []
    report, other = search._report, Report("sdpa", "a.py", 5, "failed", ())

    def graded(ids: Ids, grade: object) -> Report:
        run.append(ids)
        return report if len(run) > 1 else other  # the first candidate fails other checks

    monkeypatch.setattr(search.references, "report", graded)
    candidates = [("keys-detached",), ("values-detached",), ("no-scale",), ("queries-detached",)]
    assert search.only_match(candidates) == ()
    assert run == candidates[:3]
    run.clear()
    assert search.only_match(candidates[:2]) == ("values-detached",)


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
