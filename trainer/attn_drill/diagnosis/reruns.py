"""Run a submission again for its diagnosis, and run content of the pack for comparison."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attn_drill.diagnosis.patched_references import PATH, Graded
from attn_drill.grading.calls import Purpose
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Judgement
from attn_drill.grading.judge import judge
from attn_drill.grading.ready_workers import Workers
from attn_drill.model.submission import Submission
from attn_drill.worker.worker_client import WorkerResult, WorkerRun


class Reruns:
    """Workers for one diagnosis.

    The submission runs with the assignment of layers with which it was judged. After a timeout, the
    submission is not run again.
    """

    def __init__(self, workers: Workers, judgement: Judgement) -> None:
        self._workers, self._judgement = workers, judgement
        self._timed_out: WorkerResult | None = None
        self._begun: list[WorkerRun] = []

    def begin(self, case_set: CaseSet, purpose: Purpose) -> Callable[[], WorkerResult]:
        """Start the submission in a worker; return a function that waits for the worker."""
        if (result := self._timed_out) is not None:
            return lambda: result
        judgement = self._judgement
        running = self._workers.begin(case_set, judgement.submission, judgement.assignment, purpose)
        self._begun.append(running)
        return partial(self._finish, running)

    def run(self, case_set: CaseSet, purpose: Purpose) -> WorkerResult:
        return self.begin(case_set, purpose)()

    def _finish(self, running: WorkerRun) -> WorkerResult:
        self._begun.remove(running)
        result = self._workers.finish(running)
        if result.how == "timeout":
            self._timed_out = result
        return result

    def close(self) -> None:
        for running in self._begun:
            running.stop()
        self._begun = []

    def grade(self, case_set: CaseSet, source: str) -> Graded:
        """Run content of the pack in a worker and judge it."""
        result = self._workers.run(case_set, Submission(PATH, source))
        comparison = Comparison(case_set, result)
        return comparison, judge(comparison, PATH, 0.0)
