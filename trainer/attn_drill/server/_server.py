"""Answer the requests of one client: grade, explain, trace, teach, check the items of a pack.

A new request ends the request that is in progress. The process ends when its stdin is closed.
"""

from __future__ import annotations

import contextlib
import secrets
import select
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attn_drill.grading.grader import Grader, Judgement
from attn_drill.model.challenge import Challenge, Limits
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import content_digest, find_in
from attn_drill.server.messages import (
    Checked,
    CheckItems,
    Grade,
    GradeTests,
    Hello,
    Prepare,
    Ready,
    Refused,
    Reply,
    Request,
    Taught,
    Teach,
    TestsGraded,
    Traced,
    TraceLines,
    Verdict,
    read_message,
    unpacked_request,
    write_message,
)
from attn_drill.worker.worker_client import SupersededError

if TYPE_CHECKING:
    from attn_drill.diagnosis.diagnose import Diagnoser
    from attn_drill.server._pack_check import PackChecker

_SEEDS = 1 << 31
_MOST_SHARED = 8  # case sets that are kept, for the challenges of an assignment


class GradingServer:
    """Answer requests. Case sets and their diagnosis data are kept for the next request."""

    def __init__(self, grader: Grader, folders: Sequence[Path]) -> None:
        self._grader, self._packs = grader, folders
        self._next: Challenge | None = None  # the expected challenge of the next submission
        self._next_seed = secrets.randbelow(_SEEDS)
        self._shared: list[tuple[Challenge, int]] = []
        self._checked: Challenge | None = None
        self._passed: Judgement | None = None  # the last pass, which a lesson may be about
        self._digests: dict[Path, str] = {}

    @cached_property
    def _diagnoser(self) -> Diagnoser:
        # The diagnosis, and everything else that a pass does not need, is imported at its first use
        # or while the server waits.
        from attn_drill.diagnosis.diagnose import Diagnoser

        return Diagnoser(self._grader.workers)

    @cached_property
    def _pack_checker(self) -> PackChecker:
        from attn_drill.server._pack_check import PackChecker

        return PackChecker(self._grader, self._diagnoser, self._packs)

    def make_ready(self) -> None:
        """Prepare the cases of a fresh seed and a worker for the next submission."""
        if self._next is None:
            return
        try:
            self._grader.workers.prepare(self._grader.case_set(self._next, self._next_seed))
            _ = self._diagnoser
            from attn_drill.grading.lesson import preload

            preload()  # now, because a lesson should not keep a save waiting
        except (DrillError, GraderError):
            self._next = None  # the next request gets the same error and reports it

    def replies(self, request: Request) -> Iterator[Reply]:
        """Yield the replies to a request; SupersededError as soon as another request arrives."""
        try:
            match request:
                case Prepare():
                    challenge = self._challenge(request.challenge)
                    if self._next is not None and self._next != challenge:
                        self._grader.forget(self._next)
                    self._next = challenge
                case Grade():
                    yield from self._grade(request)
                case TraceLines():
                    from attn_drill.diagnosis.tracing import trace

                    challenge, submission = self._challenge(request.challenge), request.submission
                    traced = trace(self._grader, challenge, submission, request.seed, request.case)
                    yield Traced(request.id, traced)
                case Teach():
                    yield self._teach(request)
                case CheckItems():
                    yield self._check_items(request)
                case GradeTests():
                    yield self._grade_tests(request)
        except (DrillError, GraderError) as error:
            yield Refused(request.id, str(error), exit_code=error.exit_code)

    def _challenge(self, name: str) -> Challenge:
        """Return the current state of the challenge, because its author may be editing it."""
        return find_in(self._packs, name)

    def _grade(self, request: Grade) -> Iterator[Reply]:
        if request.needs_isolation and self._weakness:
            yield Refused(request.id, self._weakness, is_for_all=True)
            return
        challenge = self._challenge(request.challenge)
        if refusal := self._other_content(request, challenge):
            yield Refused(request.id, refusal, is_for_all=True)
            return
        self._grader.workers.limits = Limits(request.seconds, request.memory_mib)
        seed = self._next_seed if request.seed is None else request.seed
        if seed == self._next_seed:
            self._next_seed = secrets.randbelow(_SEEDS)  # used, even if the request is superseded
        if request.is_shared:
            self._share(challenge, seed)
        try:
            judgement = self._grader.grade(challenge, request.submission, seed, request.case)
            is_passed = judgement.report.verdict == "passed"
            if is_passed:
                self._passed = judgement
            elif request.is_early_wanted:
                yield Verdict(request.id, judgement.report, is_final=False)
            if request.is_for_points and not is_passed:
                judgement = judgement.with_shares()
            report = judgement.report
            if request.is_diagnosed and (not is_passed or request.planted):
                report = self._diagnoser.report(judgement, request.planted)
            yield Verdict(request.id, report)
        finally:
            if not request.is_shared:
                self._grader.forget(challenge)

    def _teach(self, request: Teach) -> Reply:
        """Return the lesson about the last pass. Judge the submission again if it is another."""
        from attn_drill.grading.lesson import Teacher

        judgement, wanted = self._passed, (request.challenge, request.submission)
        if judgement is None or (judgement.report.challenge, judgement.submission) != wanted:
            challenge = self._challenge(request.challenge)
            judgement = self._grader.grade(challenge, request.submission, request.seed)
            self._grader.forget(challenge)
        if judgement.report.verdict != "passed":
            return Refused(request.id, "There is no lesson: the file does not pass any more.")
        self.make_ready()  # first, so that the next save waits for nothing
        return Taught(request.id, Teacher(self._grader.workers).lesson(judgement))

    def _grade_tests(self, request: GradeTests) -> Reply:
        from attn_drill.diagnosis.written_tests import grade_tests

        case_set = self._grader.case_set(self._challenge(request.challenge), request.seed)
        references = self._diagnoser.references(case_set)
        report = grade_tests(self._grader.workers, references, request.submission)
        return TestsGraded(request.id, report)

    def _check_items(self, request: CheckItems) -> Reply:
        challenge = pack_reader.find_challenge(self._packs[0], request.challenge)
        if self._checked is not None and self._checked != challenge:
            self._grader.forget(self._checked)
        self._checked = challenge
        rows = self._pack_checker.rows(challenge, request.seeds, request.items)
        return Checked(request.id, tuple(rows))

    def _share(self, challenge: Challenge, seed: int) -> None:
        """Prepare the cases of a seed once for many submissions. Forget the oldest challenge."""
        if (challenge, seed) not in self._shared:
            self._shared.append((challenge, seed))
            if len(self._shared) > _MOST_SHARED:
                oldest, _ = self._shared.pop(0)
                self._grader.forget(oldest)
        self._grader.workers.preload(self._grader.case_set(challenge, seed))

    def _other_content(self, request: Grade, challenge: Challenge) -> str:
        """Return a sentence if the client has another version of the challenge, or ""."""
        if not request.content:
            return ""
        if challenge.folder not in self._digests:
            self._digests[challenge.folder] = content_digest(challenge)
        digest = self._digests[challenge.folder]
        if digest == request.content:
            return ""
        return (
            f"{challenge.id} differs between this machine ({digest[:12]}) and the machine that "
            f"started the grading ({request.content[:12]}). "
            "Install the same version of attn-drill and of the pack on every machine."
        )

    @cached_property
    def _weakness(self) -> str:
        """A sentence about what a submission could do on this machine, or ""."""
        isolated = self._grader.workers.selftest()
        if not isolated.open:
            return ""
        return (
            f"On this machine, a submission could {', '.join(isolated.open)}. Grade on a machine "
            "where `attn-drill doctor` shows no OPEN, or accept this with --allow-weaker-isolation."
        )


def run(hello: Hello, requests: int, replies: int) -> None:
    """Read requests from one descriptor and write replies to another, until requests end."""
    folders = [Path(folder) for folder in hello.packs]
    with (
        Grader(folders, interrupt=requests) as grader,
        contextlib.suppress(BrokenPipeError),  # the client has ended
    ):
        server = GradingServer(grader, folders)
        write_message(replies, Ready())
        while True:
            if not select.select([requests], [], [], 0)[0]:
                server.make_ready()
            body = read_message(requests)
            if body is None:
                return
            with contextlib.suppress(SupersededError):
                for reply in server.replies(unpacked_request(body)):
                    write_message(replies, reply)
