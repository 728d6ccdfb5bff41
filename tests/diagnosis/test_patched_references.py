"""Tests of references with patched mistakes."""

import pytest

from tests.support.diagnosis import CHALLENGES, SEED, diagnosed
from trainer.diagnosis import patched_references
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.diagnosis.value_graph import content_graph
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import Comparison
from trainer.grading.grader import Grader
from trainer.model.report import Report
from trainer.packs import pack_reader
from trainer.worker.worker_client import WorkerResult


def test_computed_features_equal_those_of_the_recorded_graph(grader: Grader) -> None:
    """The features are found without recording the run line by line."""
    case_set = grader.case_set(CHALLENGES["mha"], SEED)
    references = PatchedReferences(case_set, grader.workers.check_interrupt)
    index = next(
        case_index
        for case_index, case in enumerate(case_set.cases)
        if case.dtype == "float64" and case.check == "masks"
    )
    graph = content_graph(case_set.only([index]), references.source, "solution.py", "tensors")
    assert graph is not None
    computed = {
        node.features for node in graph.computed if not node.is_layout and node.features is not None
    }
    assert len(computed) >= 10
    assert references.computed_features((), index) == computed
    assert not references.computed_features(("no-scale",), index) <= references.computed_features(
        (), index
    )


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

    found = [references.report(case_set, "the same", grade).verdict for _ in range(3)]
    assert found == ["timeout", "failed", "failed"]
