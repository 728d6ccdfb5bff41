"""Run submissions in worker processes, with one fork server and a worker kept ready."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from attn_drill.grading.case_set import CaseSet, Purpose
from attn_drill.model.challenge import Submission
from attn_drill.model.limits import Limits
from attn_drill.sandbox.isolation import Isolation
from attn_drill.worker.forkserver_client import ForkServer
from attn_drill.worker.protocol import Assigned, SubmittedFile, cap
from attn_drill.worker.selftest import SelfTestResult, selftest_fork_server
from attn_drill.worker.worker_client import SupersededError, WorkerResult, WorkerRun

PACKAGE = Path(__file__).resolve().parents[1]
_MOST_NAME = 200  # maximum length of a file name, in characters


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
        return selftest_fork_server(self._fork_server, self._hidden)

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
        name = cap(Path(submission.name).name, _MOST_NAME)
        running.submit(SubmittedFile(name, submission.source))
        return running

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
