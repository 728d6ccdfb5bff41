"""Run submissions in workers: one fork server, and what is kept ready for the next submission."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from trainer.grading.case_set import CaseSet
from trainer.model.submission import Submission
from trainer.sandbox.copy_check import Copies
from trainer.sandbox.isolation import Isolation
from trainer.worker.forkserver_client import ForkServer, Limits
from trainer.worker.protocol import Assigned, Purpose, SubmittedFile, cap
from trainer.worker.selftest import Isolated, copies_readable_by, probe_fork_server
from trainer.worker.worker_client import SupersededError, WorkerResult, WorkerRun

TRAINER = Path(__file__).resolve().parents[1]
_POLL_SECONDS = 0.005  # between two looks at a worker, if many submissions are to come
_MOST_NAME = 200  # characters of a file's name


class Workers:
    """Start workers and wait for them. Make this before anything of `solutions/` is loaded.

    Args:
        packs: the folders of packs, which no worker may read.
        limits: of each worker.
        interrupt: a descriptor. As soon as there is something to read from it, the work that is
            under way ends with SupersededError.
        isolation: how workers are shut off; by default as well as this machine can.
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
        # A worker forked from a process whose thread pool has run may hang in its first operation.
        torch.set_num_threads(1)
        self._hidden = [TRAINER]
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
        """Start another fork server after one was lost."""
        self.close()
        self._fork_server = ForkServer(self._hidden, self._isolation)
        if self._preloaded is not None:
            self._fork_server.preload(self._preloaded.request())

    def isolated(self) -> Isolated:
        """Try what a worker can do on this machine."""
        return probe_fork_server(self._fork_server, self._hidden)

    def readable_copies(self) -> Copies:
        """Search for references that a worker can read, if anything hides files here."""
        if self._fork_server.isolation == "limits":
            return Copies()
        return copies_readable_by(self._fork_server, self._hidden)

    def preload(self, case_set: CaseSet) -> None:
        """Read the cases once for many submissions. They take the place of other held cases."""
        if self._preloaded is not case_set:
            self._preloaded = None
            self._fork_server.preload(case_set.request())
            self._preloaded = case_set

    def prepare(self, case_set: CaseSet) -> None:
        """Have everything ready for one submission: expected values, and a worker without a file."""
        if self._ready is not None and self._ready[0] is case_set:
            return
        self._discard()
        running = WorkerRun(self._fork_server, case_set.request(), self.limits, rehearsed=True)
        self._ready = case_set, running
        for expected in case_set.expect():
            expected.all_bounds()

    def _discard(self) -> None:
        if self._ready is not None:
            self._ready[1].stop()
            self._ready = None

    def begin(
        self,
        case_set: CaseSet,
        submission: Submission,
        assignment: Assigned | None = None,
        purpose: Purpose = "grade",
    ) -> WorkerRun:
        """Start a submission in a worker.

        Args:
            assignment: of the learner's layers; by default the first that fits all cases.
        """
        is_usual = not assignment and purpose == "grade"
        if is_usual and self._ready is not None and self._ready[0] is case_set:
            running, self._ready = self._ready[1], None
        else:
            is_held = is_usual and case_set is self._preloaded
            frame = None if is_held else case_set.request(assignment, purpose)
            running = WorkerRun(self._fork_server, frame, self.limits)
        running.submit(_file_of(submission))
        return running

    def finish(self, running: WorkerRun, more: Callable[[], bool] | None = None) -> WorkerResult:
        """Wait for a worker.

        Args:
            more: is called whenever more is known; the worker is ended as soon as it returns True.

        Raises:
            SupersededError: if nobody wants the result any more.
        """
        # With many submissions to come, how many a second counts, and not how soon this one ends.
        poll_seconds = 0.0 if self._preloaded is None else _POLL_SECONDS
        return running.finish(self._interrupt, more, poll_seconds)

    def run(
        self,
        case_set: CaseSet,
        submission: Submission,
        assignment: Assigned | None = None,
        purpose: Purpose = "grade",
    ) -> WorkerResult:
        """Start a submission in a worker and wait for the worker."""
        return self.finish(self.begin(case_set, submission, assignment, purpose))

    def most_held(self, case_set: CaseSet, submission: Submission, assignment: Assigned) -> int:
        """Return the most bytes that a worker of its own held; 0 if it gave no reply."""
        frame = case_set.request(assignment, "outputs", measured=True)
        running = WorkerRun(self._fork_server, frame, self.limits, measured=True)
        running.submit(_file_of(submission))
        ended = running.finish(self._interrupt)
        return ended.most_bytes if ended.how == "replied" else 0

    def check_interrupt(self) -> None:
        """Look whether anybody still wants the work that is under way.

        Raises:
            SupersededError: if there is something to read from `interrupt`.
        """
        if self._interrupt is not None and select.select([self._interrupt], [], [], 0)[0]:
            raise SupersededError


def _file_of(submission: Submission) -> SubmittedFile:
    """Return the file as a worker gets it; a file system may know names that are no UTF-8."""
    return SubmittedFile(cap(Path(submission.name).name, _MOST_NAME), submission.source)
