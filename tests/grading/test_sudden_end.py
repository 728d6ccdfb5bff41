"""The outcomes of submissions whose worker did not send a complete reply."""

import pytest

from attn_drill.grading.checks_load import sudden_end
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Grader
from attn_drill.grading.judge import due_checks
from attn_drill.model.challenge import Limits
from attn_drill.packs import pack_reader
from attn_drill.worker.worker_client import WorkerResult
from tests.support.running import grade_prefix_sum

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")


@pytest.fixture
def impatient(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> Grader:
    """A grader with a time limit of one second."""
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=1.0, memory_mib=512))
    return grader


@pytest.mark.thorough
def test_endless_import_is_reported_with_its_line(impatient: Grader) -> None:
    """The message says that the file was still being imported."""
    failure = grade_prefix_sum(impatient, "x = 1\nwhile True:\n    x += 1\n").first_failure()
    assert failure is not None
    assert failure.check == "loads"
    assert "while the file was imported" in failure.message
    assert failure.frames[-1].line in (2, 3)


def test_worker_that_dies_in_a_case_fails_that_case(grader: Grader) -> None:
    """The last note of the worker is the index of the case. All other checks are skipped."""
    case_set = grader.case_set(GQA, 5)
    result = WorkerResult("died", reason="the process was killed", last_note=3)
    outcomes = sudden_end(comparison := Comparison(case_set, result), due_checks(comparison))
    assert outcomes is not None
    (failed,) = (outcome for outcome in outcomes if outcome.status == "failed")
    assert (failed.check, failed.case, failed.number) == ("runs", case_set.cases[3].name, 4)
    assert failed.message == "the process was killed"
    skipped = {outcome.check for outcome in outcomes if outcome.status == "skipped"}
    assert {"values", "masks", "gradients", "bad sizes"} <= skipped


def test_worker_that_dies_in_a_constructor_call_fails_bad_sizes(grader: Grader) -> None:
    """The notes after the cases are the indices of the refusals."""
    case_set = grader.case_set(GQA, 5)
    result = WorkerResult("timeout", last_note=len(case_set.cases), seconds=3.0)
    outcomes = sudden_end(comparison := Comparison(case_set, result), due_checks(comparison))
    assert outcomes is not None
    (failed,) = (outcome for outcome in outcomes if outcome.status == "failed")
    assert failed.check == "bad sizes"
    assert case_set.refusals[0].why in failed.message
    assert "it used 3 s of CPU time" in failed.message
    assert failed.advice == "`--time-limit` raises the limit"


@pytest.mark.parametrize(
    ("result", "advice"),
    [
        (WorkerResult("timeout", last_note=0, seconds=3.0), "`--time-limit` raises the limit"),
        (WorkerResult("timeout", last_note=0, seconds=3.0, slept=True), ""),
        (
            WorkerResult("died", reason="out of memory", out_of_memory=True, last_note=-1),
            "`--memory-limit` raises the limit",
        ),
        (WorkerResult("died", reason="the process was killed", last_note=0), ""),
    ],
    ids=["busy", "asleep", "memory", "killed"],
)
def test_option_that_raises_a_limit_is_not_in_the_message(
    grader: Grader, result: WorkerResult, advice: str
) -> None:
    """The students of a class see the message without the advice."""
    outcomes = sudden_end(
        comparison := Comparison(grader.case_set(GQA, 5), result), due_checks(comparison)
    )
    assert outcomes is not None
    (failed,) = (outcome for outcome in outcomes if outcome.status == "failed")
    assert failed.advice == advice
    assert "--" not in failed.message
    assert failed.advised_message.endswith(advice)
