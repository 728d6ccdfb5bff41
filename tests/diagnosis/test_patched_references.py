"""Tests of references with patched mistakes."""

import pytest

from attn_drill.diagnosis import patched_references
from attn_drill.diagnosis.patched_references import PatchedReferences
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Grader
from attn_drill.model.report import Report
from attn_drill.packs import pack_reader
from attn_drill.worker.worker_client import WorkerResult
from tests.support.diagnosis import CHALLENGES, SEED, diagnosed


def test_right_answers_are_recorded_once_for_many_submissions(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second wrong submission does not record right answers again. The diagnosis is the same."""
    challenge = CHALLENGES["sdpa"]
    wrong = pack_reader.solution(challenge).replace("math.sqrt", "float")
    first = diagnosed(grader, challenge, wrong)[1]
    recorded: list[str] = []
    monkeypatch.setattr(
        patched_references,
        "content_graph",
        lambda case_set, source, path, purpose="lines": recorded.append(path),
    )
    monkeypatch.setattr(
        patched_references, "right_graphs", lambda case_set: recorded.append("right")
    )
    assert diagnosed(grader, challenge, wrong)[1] == first
    assert recorded == []


def test_timeout_of_a_patched_reference_is_not_kept(grader: Grader) -> None:
    """A mistake that timed out on a busy machine is graded again. A failed mistake is not."""
    case_set = grader.case_set(CHALLENGES["sdpa"], SEED)
    reports = [
        Report("sdpa", "x.py", SEED, verdict, (), (), "", 0.0)
        for verdict in ("timeout", "failed", "passed")
    ]
    replies = iter(reports)
    references = PatchedReferences(case_set, grader.workers.check_interrupt)

    def grade(case_set: CaseSet, source: str) -> tuple[Comparison, Report]:
        return Comparison(case_set, WorkerResult("died")), next(replies)

    found = [references.report(("no-scale",), grade).verdict for _ in range(3)]
    assert found == ["timeout", "failed", "failed"]
