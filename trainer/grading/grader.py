"""Grade submissions: draw the cases, run each submission on the cases, and judge the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from weakref import WeakKeyDictionary

from trainer.grading.case_set import CaseSet, load_case_set
from trainer.grading.checks_counted import loop_between
from trainer.grading.comparison import CaseResult, Comparison
from trainer.grading.held_memory import HeldMemory, held_memory, measured_pair
from trainer.grading.judge import judge
from trainer.grading.ready_workers import Workers
from trainer.grading.unfinished import unfinished
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.report import Report
from trainer.model.submission import Submission
from trainer.sandbox.isolation import Isolation
from trainer.worker.forkserver_client import ForkServerLostError, Limits
from trainer.worker.protocol import Assigned
from trainer.worker.worker_client import WorkerResult

_FORK_SERVERS_PER_SUBMISSION = 2


@dataclass(frozen=True)
class Judgement:
    """A judged submission.

    Attributes:
        submission: the submission.
        report: the report, without a diagnosis.
        comparison: the comparison that the report is made from.
    """

    submission: Submission
    report: Report
    comparison: Comparison

    @property
    def case_set(self) -> CaseSet:
        """The cases that the submission ran on."""
        return self.comparison.case_set

    @property
    def assignment(self) -> Assigned:
        """The assignment of the learner's layers that the report is based on."""
        return self.comparison.reply.assignment

    def of_all_cases(self) -> Judgement:
        """Return the judgement of all cases that the worker ran.

        A report of a single case covers only this case, but the worker ran all of them.
        """
        if self.comparison.only is None:
            return self
        complete = Comparison(self.case_set, self.comparison.worker_result)
        report = judge(complete, self.submission.name, self.report.elapsed_seconds)
        return replace(self, report=report, comparison=complete)


class Grader:
    """Grade submissions in worker processes. Use a grader as a context manager.

    Create the grader before any file of `solutions/` is loaded, because the fork server must not
    have references in its memory.

    Args:
        packs: the folders of packs, which no worker may read.
        limits: the limits of each worker.
        interrupt: a file descriptor that stops the current work; see `Workers`.
        isolation: the isolation of workers; see `Workers`.
        meanwhile: is called once per run while the grader waits for a worker.
    """

    def __init__(
        self,
        packs: Iterable[Path],
        limits: Limits | None = None,
        interrupt: int | None = None,
        isolation: Isolation | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        self.workers = Workers(packs, limits, interrupt, isolation)
        self._meanwhile = meanwhile
        self._case_sets: dict[tuple[Path, int], CaseSet] = {}
        self._own_growth: WeakKeyDictionary[CaseSet, int] = WeakKeyDictionary()

    def __enter__(self) -> Grader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the fork server and its workers."""
        self.workers.close()

    def case_set(self, challenge: Challenge, seed: int) -> CaseSet:
        """Return the cases of a challenge under a seed, and keep the cases for later submissions.

        Raises:
            PackError: if the content of the pack is broken.
            GraderError: if the reference raises an exception.
        """
        key = (challenge.folder, seed)
        if key not in self._case_sets:
            self._case_sets[key] = load_case_set(challenge, seed)
        return self._case_sets[key]

    def forget(self, challenge: Challenge) -> None:
        """Drop the cases of a challenge. Call this after the last submission of the challenge."""
        self._case_sets = {
            key: case_set for key, case_set in self._case_sets.items() if key[0] != challenge.folder
        }

    def grade(
        self, challenge: Challenge, submission: Submission, seed: int, only: int | None = None
    ) -> Judgement:
        """Judge a submission on the cases of one seed.

        Args:
            challenge: the challenge.
            submission: the learner's file.
            seed: the seed of the cases.
            only: a case number, from 1. The report then covers this case only.

        Raises:
            DrillError: if there is no case with this number.
            GraderError: if the grader, the reference or the fork server fails. There is no verdict
                then.
        """
        case_set = self.case_set(challenge, seed)
        return self.judge(case_set, submission, index_of_case(case_set, only))

    def judge(
        self, case_set: CaseSet, submission: Submission, only: int | None = None
    ) -> Judgement:
        """Judge a submission on the cases of a case set.

        If the fork server dies, the submission runs again with a new fork server. If two fork
        servers die, the submission is the likely cause, so the submission gets a verdict.

        Args:
            case_set: the cases.
            submission: the learner's file.
            only: the index of a single case, from 0. The report then covers this case only.
        """
        started = time.monotonic()
        for _ in range(_FORK_SERVERS_PER_SUBMISSION):
            try:
                return self._judged(case_set, submission, only, started)
            except ForkServerLostError:
                self.workers.replace_fork_server()
        reason = (
            "each time this file ran, the process that starts workers died together with the worker"
        )
        comparison = Comparison(case_set, WorkerResult("died", reason=reason), only)
        return _judgement(comparison, submission, started)

    def _judged(
        self, case_set: CaseSet, submission: Submission, only: int | None, started: float
    ) -> Judgement:
        comparison = self._compared(case_set, submission, {}, only)
        tried, likely = comparison.worker_result.tried, comparison.agreeing_assignments()
        if comparison.worker_result.how == "stopped" and tried is not None:
            meant = tried.assignments[likely[0]]
            comparison = self._compared(case_set, submission, meant, only)
            comparison.reply.assignments = tried.assignments
        if comparison.worker_result.how == "timeout" and not comparison.worker_result.slept:
            comparison.loop = self._loop(comparison, submission)
        elif only is None and _is_all_right(comparison):
            comparison.held = self._held_memory(comparison, submission)
        judgement = _judgement(comparison, submission, started)
        return self._with_best_assignment(judgement, likely, started)

    def _compared(
        self, case_set: CaseSet, submission: Submission, assignment: Assigned, only: int | None
    ) -> Comparison:
        """Run a submission, and compare its results while the worker is running.

        If several assignments of layers fit and a probe case shows that the first assignment is
        wrong, stop the worker.
        """
        running = self.workers.begin(case_set, submission, assignment)
        case_set.expect()  # uses the time in which the worker runs
        self._meanwhile()
        comparison = Comparison(case_set, running.result, only)

        def compare() -> bool:
            likely = comparison.agreeing_assignments() if not assignment else []
            if likely and 0 not in likely:
                return True
            comparison.compare_ahead()
            return False

        self.workers.finish(running, compare)
        return comparison

    def _with_best_assignment(
        self, judgement: Judgement, likely: list[int], started: float
    ) -> Judgement:
        """Return the judgement under the layer assignment with the best report.

        The names of the layers may allow several assignments. The learner means the assignment
        under which every output is right.

        Args:
            judgement: the judgement under the first assignment.
            likely: the indices of the assignments to try; empty to try all.
            started: the time at which grading began, in seconds of `time.monotonic`.
        """
        best = judgement
        case_set, only = judgement.case_set, judgement.comparison.only
        possible = judgement.comparison.reply.assignments
        if len(possible) < 2 or not _has_wrong_values(judgement.report):
            return best
        chosen = [possible[index] for index in likely if index < len(possible)] or possible
        for assignment in chosen:
            if time.monotonic() > started + self.workers.limits.seconds:
                break
            if assignment == judgement.assignment:
                continue
            comparison = self._compared(case_set, judgement.submission, assignment, only)
            comparison.reply.assignments = possible
            other = _judgement(comparison, judgement.submission, started)
            if _badness(other.report) < _badness(best.report):
                best = other
            if best.report.verdict == "passed":
                break
        return best

    def _held_memory(self, comparison: Comparison, submission: Submission) -> HeldMemory | None:
        """Return the kernel's count of the memory; None if the challenge does not compare it."""
        case_set, assignment = comparison.case_set, comparison.reply.assignment
        pair = measured_pair(case_set)
        if pair is None:
            return None

        def most_held(index: int) -> int:
            alone = case_set.only([index], alone=True)
            return self.workers.most_held(alone, submission, assignment)

        def own_bytes(afresh: bool) -> int:
            if afresh or case_set not in self._own_growth:
                self._own_growth[case_set] = self._measured_growth(case_set, pair)
            return self._own_growth[case_set]

        return held_memory(case_set.cases, pair, most_held, own_bytes)

    def _measured_growth(self, case_set: CaseSet, pair: tuple[int, int]) -> int:
        """Return the number of bytes that the reference takes more in the larger of two cases.

        Tensors that the reference itself holds are not counted.
        """
        content = case_set.content
        reference = Submission(content.challenge.file_name, content.reference_source)
        small, large = (case_set.only([index], alone=True) for index in pair)
        few, many = (self.workers.most_held(alone, reference, {}) for alone in (small, large))
        runs = self.workers.run(large, reference).reply.runs
        held = max((counts.alive for run in runs for counts in run.counts), default=0)
        return many - few - held

    def _loop(self, comparison: Comparison, submission: Submission) -> str:
        """Return a sentence about the count that grows with the sizes after a timeout, or "".

        A loop is the likely cause of a timeout. The first vectorised probe is small, so the
        submission can run on the probe again.
        """
        case_set = comparison.case_set
        probes = [index for index, case in enumerate(case_set.cases) if case.probe == "vectorised"][
            :2
        ]
        if len(probes) < 2 or (comparison.worker_result.last_note or 0) <= probes[0]:
            return ""
        pair = case_set.only(probes)
        result = self.workers.run(pair, submission)
        runs = result.reply.runs or result.partial
        if len(runs) < 2:
            return ""
        small, large = (CaseResult(index, pair.prepared[index], runs[index]) for index in (0, 1))
        return loop_between(small, large)


def index_of_case(case_set: CaseSet, number: int | None) -> int | None:
    """Return the index of a case, from 0, or None if `number` is None.

    Args:
        case_set: the cases.
        number: the case number, from 1.

    Raises:
        DrillError: if there is no case with this number.
    """
    if number is None:
        return None
    count = len(case_set.cases)
    if not 1 <= number <= count:
        raise DrillError(
            f"{case_set.challenge.id} has cases 1 to {count}; --case {number} does not exist."
        )
    return number - 1


def _judgement(comparison: Comparison, submission: Submission, started: float) -> Judgement:
    report = judge(comparison, submission.name, time.monotonic() - started)
    report = replace(report, source=submission.source)
    if report.verdict != "passed":
        report = replace(report, unfinished=unfinished(comparison, submission.source))
    return Judgement(submission, report, comparison)


def _is_all_right(comparison: Comparison) -> bool:
    """Return whether the worker replied and all values of all cases are right."""
    if comparison.worker_result.how != "replied":
        return False
    return all(comparison.right(result) for result in comparison.results)


def _has_wrong_values(report: Report) -> bool:
    """Return whether the values of a case are wrong. Another assignment changes values only."""
    return any(
        outcome.check == "values" and outcome.status == "failed" and outcome.number is not None
        for outcome in report.outcomes
    )


def _badness(report: Report) -> tuple[bool, int]:
    """Return a sort key that is smaller for better reports."""
    failed = sum(outcome.status == "failed" for outcome in report.outcomes)
    return report.verdict != "passed", failed
