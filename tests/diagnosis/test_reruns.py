"""Tests of the workers of a diagnosis."""

from pathlib import Path

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Limits
from attn_drill.packs import pack_reader
from attn_drill.worker.worker_client import WorkerRun
from tests.support.diagnosis import CHALLENGES
from tests.support.grading import judged, with_mistakes

SDPA = CHALLENGES["sdpa"]
WRONG = with_mistakes(SDPA, "no-scale")


def test_submission_runs_again_on_one_case(grader: Grader) -> None:
    """The recorded run has the steps of the submission."""
    answer = judged(grader, SDPA, WRONG)
    result = answer.reruns.run(answer.agreement.case_set.select([0]), "lines")
    assert result.how == "replied"
    (run,) = result.reply.runs
    assert any(step.operation == "_softmax" for step in run.steps)


def test_content_of_the_pack_is_judged_in_a_worker(grader: Grader) -> None:
    """The reference passes, and a known mistake fails."""
    answer = judged(grader, SDPA, WRONG)
    some_cases = answer.agreement.case_set.select([0, 1, 2])
    _, report = answer.reruns.grade(some_cases, with_mistakes(SDPA))
    assert report.verdict == "passed"
    _, report = answer.reruns.grade(some_cases, WRONG)
    assert report.verdict == "failed"


def test_close_stops_workers_that_are_still_running(grader: Grader) -> None:
    """The process of a running worker has ended after `close`."""
    answer = judged(grader, SDPA, WRONG)
    answer.reruns.begin(answer.agreement.case_set.select([0]), "outputs")
    (running,) = answer.reruns._begun
    assert isinstance(running, WorkerRun)
    answer.reruns.close()
    assert not Path(f"/proc/{running._worker.pid}").exists()


@pytest.mark.thorough
def test_submission_is_not_run_again_after_a_timeout() -> None:
    """The result of the timeout is returned at once for every later run."""
    with Grader([pack_reader.built_in_pack()], Limits(seconds=0.5)) as grader:
        answer = judged(grader, SDPA, "while True: pass\n")
        alone = answer.agreement.case_set.select([0])
        result = answer.reruns.run(alone, "lines")
        assert result.how == "timeout"
        assert answer.reruns.run(alone, "lines") is result
