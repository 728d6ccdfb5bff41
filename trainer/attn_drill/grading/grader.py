"""Grade submissions: draw the cases, run each submission on the cases, and judge the results."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from attn_drill.grading._checks_run import growth_pairs, loop_between
from attn_drill.grading.case_set import CaseSet, Purpose, load_case_set
from attn_drill.grading.comparison import CaseResult, Comparison
from attn_drill.grading.judge import judge, shares, unfinished
from attn_drill.model.case import Case
from attn_drill.model.challenge import Challenge, Limits, Submission
from attn_drill.model.errors import DrillError
from attn_drill.model.report import Report
from attn_drill.packs.pack_reader import PACKAGE
from attn_drill.sandbox.isolation import Isolation
from attn_drill.worker.forkserver_client import ForkServer, ForkServerLostError
from attn_drill.worker.protocol import (
    Assigned,
    Request,
    SubmittedFile,
    TensorTable,
    cap,
    encode,
)
from attn_drill.worker.selftest import SelfTestResult, selftest
from attn_drill.worker.worker_client import SupersededError, WorkerResult, WorkerRun

_MOST_NAME = 200  # maximum length of a file name, in characters
_FORK_SERVERS_PER_SUBMISSION = 2


class Workers:
    """Start worker processes and wait for them.

    Create an instance before any file of `solutions/` is loaded: the fork server must not have
    references in its memory.

    Args:
        packs: the folders of packs, which no worker may read.
        interrupt: a file descriptor. As soon as it is readable, the current work ends with
            SupersededError.
        isolation: the isolation of workers; by default the strongest that this machine allows.
    """

    def __init__(
        self,
        packs: Iterable[Path],
        limits: Limits | None = None,
        interrupt: int | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._interrupt = interrupt
        # If the thread pool has run before the fork, a worker may hang in its first operation.
        torch.set_num_threads(1)
        self._hidden = [PACKAGE]
        for pack in packs:
            self._hidden += [pack / "challenges", pack / "solutions"]
        self._isolation = isolation
        self._fork_server = ForkServer(self._hidden, isolation)
        self._ready: tuple[CaseSet, WorkerRun] | None = None
        self._preloaded: CaseSet | None = None

    def close(self) -> None:
        """End the fork server and its workers."""
        self._ready = None
        self._fork_server.close()

    def replace_fork_server(self) -> None:
        """Start a new fork server after the old fork server was lost."""
        self.close()
        self._fork_server = ForkServer(self._hidden, self._isolation)
        if self._preloaded is not None:
            self._fork_server.preload(self._preloaded.request())

    def selftest(self) -> SelfTestResult:
        """Test what a worker can do on this machine."""
        return selftest(self._fork_server, self._hidden)

    def preload(self, case_set: CaseSet) -> None:
        """Send the cases to the fork server once for many submissions.

        The fork server holds one case set at a time.
        """
        if self._preloaded is not case_set:
            self._preloaded = None
            self._fork_server.preload(case_set.request())
            self._preloaded = case_set

    def prepare(self, case_set: CaseSet) -> None:
        """Compute the expected values, and start a worker that waits for a submission."""
        if self._ready is not None:
            if self._ready[0] is case_set:
                return
            self._ready[1].stop()
            self._ready = None
        running = WorkerRun(self._fork_server, case_set.request(), self.limits, rehearsed=True)
        self._ready = case_set, running
        for expected in case_set.expect():
            _ = expected.bounds, expected.bounds_second, expected.gradient_bounds

    def begin(
        self,
        case_set: CaseSet,
        submission: Submission,
        assignment: Assigned | None = None,
        purpose: Purpose = "grade",
    ) -> WorkerRun:
        """Start a submission in a worker and return the running worker; see `CaseSet.request`."""
        is_usual = not assignment and purpose == "grade"
        if is_usual and self._ready is not None and self._ready[0] is case_set:
            running, self._ready = self._ready[1], None
        else:
            is_held = is_usual and case_set is self._preloaded
            frame = None if is_held else case_set.request(assignment, purpose)
            running = WorkerRun(self._fork_server, frame, self.limits)
        return _submitted(running, submission)

    def run_request(self, request: Request, submission: Submission) -> WorkerResult:
        """Run a submission on a request without tensors, and return the worker's result."""
        running = WorkerRun(self._fork_server, encode(request, TensorTable()), self.limits)
        return self.finish(_submitted(running, submission))

    def finish(self, running: WorkerRun, more: Callable[[], object] = lambda: None) -> WorkerResult:
        """Wait for a worker and return its result; SupersededError if it is no longer needed."""
        return running.finish(self._interrupt, more)

    def run(
        self,
        case_set: CaseSet,
        submission: Submission,
        assignment: Assigned | None = None,
        purpose: Purpose = "grade",
    ) -> WorkerResult:
        """Run a submission in a worker and return the worker's result."""
        return self.finish(self.begin(case_set, submission, assignment, purpose))

    def check_interrupt(self) -> None:
        """Raise SupersededError if the current work is no longer needed."""
        if self._interrupt is not None and select.select([self._interrupt], [], [], 0)[0]:
            raise SupersededError


def _submitted(running: WorkerRun, submission: Submission) -> WorkerRun:
    """Send a submission to the worker that waits for it, and return the running worker."""
    name = cap(Path(submission.name).name, _MOST_NAME)
    running.submit(SubmittedFile(name, submission.source))
    return running


@dataclass(frozen=True)
class Judgement:
    """A judged submission."""

    submission: Submission
    report: Report  # without a diagnosis
    comparison: Comparison  # the report is made from it

    @property
    def case_set(self) -> CaseSet:
        """The cases that the submission ran on."""
        return self.comparison.case_set

    @property
    def assignment(self) -> Assigned:
        """The assignment of the learner's layers that the report is based on."""
        return self.comparison.reply.assignment

    def with_shares(self) -> Judgement:
        """Return the judgement with the share of each check that is right in its report."""
        return replace(self, report=replace(self.report, shares=shares(self.comparison)))

    def of_all_cases(self) -> Judgement:
        """Return the judgement of all cases: the worker ran them also for a report of one case."""
        if self.comparison.case_index is None:
            return self
        complete = Comparison(self.case_set, self.comparison.worker_result)
        report = judge(complete, self.submission.name, self.report.elapsed_seconds)
        return replace(self, report=report, comparison=complete)


class Grader:
    """Grade submissions in worker processes. Use a grader as a context manager.

    Create the grader before any file of `solutions/` is loaded, because the fork server must not
    have references in its memory. For the arguments, see `Workers`.
    """

    def __init__(
        self,
        packs: Iterable[Path],
        limits: Limits | None = None,
        interrupt: int | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        self.workers = Workers(packs, limits, interrupt, isolation)
        self._case_sets: dict[tuple[Path, int], CaseSet] = {}

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the fork server and its workers."""
        self.workers.close()

    def case_set(self, challenge: Challenge, seed: int) -> CaseSet:
        """Return the cases of a challenge under a seed, and keep them for later submissions."""
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
        self,
        challenge: Challenge,
        submission: Submission,
        seed: int,
        case_number: int | None = None,
    ) -> Judgement:
        """Judge a submission on the cases of one seed, or on the case of this number.

        Raises:
            DrillError: if there is no case with this number.
            GraderError: if the grader, the reference or the fork server fails. There is no verdict
                then.
        """
        case_set = self.case_set(challenge, seed)
        return self.judge(case_set, submission, index_of_case(case_set, case_number))

    def judge(
        self, case_set: CaseSet, submission: Submission, case_index: int | None = None
    ) -> Judgement:
        """Judge a submission on the cases of a case set, or on the case of this index.

        If the fork server dies, the submission runs again with a new fork server. If two fork
        servers die, the submission is the likely cause, so the submission gets a verdict.
        """
        started = time.monotonic()
        for _ in range(_FORK_SERVERS_PER_SUBMISSION):
            try:
                comparison = self._under_the_meant_assignment(case_set, submission, case_index)
                break
            except ForkServerLostError:
                self.workers.replace_fork_server()
        else:
            reason = (
                "each time this file ran, the process that starts workers died together with the "
                "worker"
            )
            comparison = Comparison(case_set, WorkerResult("died", reason=reason), case_index)
        report = judge(comparison, submission.name, time.monotonic() - started)
        report = replace(report, source=submission.source)
        if report.verdict != "passed":
            report = replace(report, unfinished=unfinished(comparison, submission.source))
        return Judgement(submission, report, comparison)

    def _under_the_meant_assignment(
        self, case_set: CaseSet, submission: Submission, case_index: int | None
    ) -> Comparison:
        """Run and compare a submission. If several assignments of its layers fit, find the meant.

        The worker then makes no calls, and the submission runs again with the meant assignment. It
        also runs again if it ties parameters, because the reference must tie them, too.
        """
        comparison = self._run_and_compare(case_set, submission, {}, case_index)
        ties = {frozenset(pair) for pair in case_set.challenge.ties}
        shared = {frozenset(pair) for run in comparison.reply.runs for pair in run.shared.items()}
        if ties and ties <= shared and not case_set.is_tied:
            return self._under_the_meant_assignment(case_set.tied, submission, case_index)
        possible = comparison.reply.assignments
        if len(possible) < 2:
            return comparison
        meant = self._meant_assignment(case_set, submission, possible)
        comparison = self._run_and_compare(case_set, submission, meant, case_index)
        comparison.reply.assignments = possible
        return comparison

    def _meant_assignment(
        self, case_set: CaseSet, submission: Submission, possible: Sequence[Assigned]
    ) -> Assigned:
        """Return the assignment under which the first plain case is right, or else the first.

        No other assignment can pass. The trials together have as much CPU time as one run.
        """
        plain = [index for index, case in enumerate(case_set.cases) if _is_plain(case)]
        alone, used = case_set.select(plain[:1]), 0.0
        for assignment in possible:
            result = self.workers.run(alone, submission, assignment)
            used += result.cpu
            results = Comparison(alone, result).results
            if result.how == "replied" and all(case_result.right for case_result in results):
                return assignment
            if result.how != "replied" or used > self.workers.limits.seconds:
                break
        return possible[0]

    def _run_and_compare(
        self,
        case_set: CaseSet,
        submission: Submission,
        assignment: Assigned,
        case_index: int | None,
    ) -> Comparison:
        """Run a submission, and compare its results while the worker is running."""
        running = self.workers.begin(case_set, submission, assignment)
        case_set.expect()  # uses the time in which the worker runs
        comparison = Comparison(case_set, running.result, case_index)
        result = self.workers.finish(running, comparison.compare_ahead)
        self._confirm_loops(comparison, submission, assignment)
        if result.how == "timeout" and not result.slept:
            return Comparison(case_set, result, case_index, self._loop(comparison, submission))
        return comparison

    def _confirm_loops(
        self, comparison: Comparison, submission: Submission, assignment: Assigned
    ) -> None:
        """Count the two cases of a growth probe again, alone, if their counts show a loop."""
        # An earlier case may have left a table for one of the lengths, for example in
        # `functools.cache`. Then the counts differ by the work of making the other table.
        for small, large in growth_pairs(comparison):
            if not loop_between(small, large):
                continue
            pair = comparison.case_set.select([small.index, large.index])
            runs = self.workers.run(pair, submission, assignment).reply.runs
            if len(runs) == 2:
                small.reply.cost, large.reply.cost = (run.cost for run in runs)
            if loop_between(small, large):
                return  # one loop is enough to fail

    def _loop(self, comparison: Comparison, submission: Submission) -> str:
        """Return a sentence about the count that grows with the sizes after a timeout, or ""."""
        # A loop is the likely cause of a timeout. The first growth probe is small, so the
        # submission can run on the probe again.
        cases = comparison.case_set.cases
        probes = [index for index, case in enumerate(cases) if case.probe == "vectorised"]
        if len(probes) < 2 or (comparison.worker_result.last_note or 0) <= probes[0]:
            return ""
        pair = comparison.case_set.select(probes[:2])
        result = self.workers.run(pair, submission)
        runs = result.reply.runs or result.partial
        if len(runs) < 2:
            return ""
        small, large = (CaseResult(index, pair.prepared[index], runs[index]) for index in (0, 1))
        return loop_between(small, large)


def index_of_case(case_set: CaseSet, number: int | None) -> int | None:
    """Return the index of the case with this number, from 1; DrillError if there is none."""
    if number is None:
        return None
    count = len(case_set.cases)
    if not 1 <= number <= count:
        raise DrillError(
            f"{case_set.challenge.id} has cases 1 to {count}; --case {number} does not exist."
        )
    return number - 1


def _is_plain(case: Case) -> bool:
    """Return whether a case has no probe, no dropout, no memory layout and no coarse rounding."""
    is_usual = case.probe is None and case.mode == "eval" and not case.layout
    return is_usual and case.dtype != "bfloat16"
