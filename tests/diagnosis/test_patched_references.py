"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

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


def test_figures_are_those_of_the_trail(grader: Grader) -> None:
    """What a patched reference computes is noted without being recorded line by line: the same figures."""
    case_set = grader.case_set(CHALLENGES["mha"], SEED)
    references = PatchedReferences(case_set, grader.workers.check_interrupt)
    index = next(
        place
        for place, case in enumerate(case_set.cases)
        if case.dtype == "float64" and case.check == "masks"
    )
    graph = content_graph(case_set.only([index]), references.source, "solution.py", "tensors")
    assert graph is not None
    computed = {
        node.features for node in graph.computed if not node.is_layout and node.features is not None
    }
    assert len(computed) >= 10
    assert references.figures((), index) == computed
    assert not references.figures(("no-scale",), index) <= references.figures((), index)


def test_what_a_class_shares_is_recorded_once(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wrong submission of an exam has none of the pack's right answers recorded again, and its diagnosis is the same."""
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


def test_only_what_lasts_is_kept(grader: Grader) -> None:
    """A mistake that met its time limit once, on a busy machine, is graded again; one that failed is not."""
    case_set = grader.case_set(CHALLENGES["sdpa"], SEED)
    reports = [
        Report("sdpa", "x.py", SEED, verdict, (), (), "", 0.0)
        for verdict in ("timeout", "failed", "passed")
    ]
    asked = iter(reports)
    references = PatchedReferences(case_set, grader.workers.check_interrupt)

    def grade(case_set: CaseSet, source: str) -> tuple[Comparison, Report]:
        return Comparison(case_set, WorkerResult("died")), next(asked)

    found = [references.report(case_set, "the same", grade).verdict for _ in range(3)]
    assert found == ["timeout", "failed", "failed"]
