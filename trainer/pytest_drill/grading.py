"""The grading process of a run, and what is known of each file that is graded."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property, partial
from pathlib import Path

import msgspec

from trainer.core.report import Report
from trainer.core.words import Submission as SubmittedFile
from trainer.pytest_drill.due import Became, Due, all_due, what_became
from trainer.pytest_drill.options import Options, Wanted
from trainer.server.messages import Grade, GradeReference, Refused, Reply, Request, Verdict, rows_of
from trainer.server.process import ServerLostError, ServerProcess

_TRIES = 2


class Asking:
    """A station that is started when it is first asked. `failed`: whether any question went without an answer."""

    def __init__(self, packs: tuple[str, ...]) -> None:
        self._packs = packs
        self._station: ServerProcess | None = None
        self._answers: dict[Request, Reply] = {}
        self.failed = False

    def ask(self, order: Request, what: str) -> Reply:
        """The answer to an order; one that loses the station is given to another once. Of files that answer one challenge, what is expected is the same."""
        if order not in self._answers:
            self._answers[order] = self._ask(order, what)
        answer = self._answers[order]
        self.failed = self.failed or isinstance(answer, Refused)
        return answer

    def _ask(self, order: Request, what: str) -> Reply:
        lost = ""
        for _ in range(_TRIES):
            try:
                self._station = self._station or ServerProcess(self._packs)
                return self._station.ask(order)
            except ServerLostError as error:
                lost = str(error)
                self.close()
            except BaseException:
                self.close()
                raise
        return Refused(
            0,
            f"{what} ended the grading process {_TRIES} times ({lost}). `attn-drill doctor` shows what this machine can do.",
        )

    def close(self) -> None:
        """End the station, if there is one."""
        station, self._station = self._station, None
        if station is not None:
            station.close()


class Submission:
    """A file and the challenge that it answers. Each question about it is asked once, when its answer is first wanted.

    given   the file as the command line names it; `path` is absolute
    """

    def __init__(
        self,
        challenge: str,
        given: str,
        path: Path,
        expected: Callable[[], Reply],
        graded: Callable[[], Reply],
    ) -> None:
        self.challenge, self.given, self.path = challenge, given, path
        self._expect, self._grade = expected, graded

    @cached_property
    def expected(self) -> Reply:
        """The report of a right answer."""
        return self._expect()

    @cached_property
    def graded(self) -> Reply:
        """The report of the file; where the tests cannot be known, it is not graded."""
        return self.expected if isinstance(self.expected, Refused) else self._grade()

    @property
    def no_tests(self) -> str:
        """Why the tests cannot be known, in a sentence; "" where they can."""
        return self.expected.sentence if isinstance(self.expected, Refused) else ""

    @property
    def trouble(self) -> str:
        """Why there is no report of the file, in a sentence; "" where there is one."""
        return self.graded.sentence if isinstance(self.graded, Refused) else ""

    @cached_property
    def due(self) -> tuple[Due, ...]:
        """The tests, which must be known."""
        assert isinstance(self.expected, Verdict)
        return all_due(self.expected.report)

    @property
    def report(self) -> Report:
        """The report of the file, which must be graded."""
        assert isinstance(self.graded, Verdict)
        return self.graded.report

    def what_became(self, chosen: Collection[Due]) -> dict[Due, Became]:
        """What became of each test, where these are run."""
        return dict(zip(self.due, what_became(self.report, self.due, chosen), strict=True))


def submissions(options: Options, asking: Asking) -> tuple[Submission, ...]:
    """What is to be graded in this process."""
    return tuple(
        Submission(
            one.challenge.id,
            one.given,
            one.path,
            partial(_expected, options, asking, one),
            partial(_graded, options, asking, one),
        )
        for one in options.wanted
    )


def _expected(options: Options, asking: Asking, one: Wanted) -> Reply:
    reply = asking.ask(
        GradeReference(one.challenge.id, options.seed), f"Telling what {one.challenge.id} asks"
    )
    if isinstance(reply, Verdict) and reply.report.verdict != "passed":
        asking.failed = True
        sentence = (
            f"The reference of {one.challenge.id} itself does not pass here under seed "
            f"{options.seed} ({reply.report.verdict}), so nothing can be graded. "
            f"Run `attn-drill pack check --challenge {one.challenge.id}`."
        )
        return Refused(0, sentence)
    return reply


def _graded(options: Options, asking: Asking, one: Wanted) -> Reply:
    request = Grade(
        challenge=one.challenge.id,
        submission=SubmittedFile(one.given, one.source),
        seed=options.seed,
        is_shared=sum(other.challenge == one.challenge for other in options.wanted) > 1,
        seconds=options.seconds,
        memory_mib=options.memory_mib,
    )
    return asking.ask(request, f"Grading {one.given}")


class _Known(msgspec.Struct, frozen=True):
    challenge: str
    given: str
    path: str
    expected: Reply
    graded: Reply


def handed_over(known: tuple[Submission, ...]) -> bytes:
    """All that the workers of a run need to know, so that they ask nothing themselves."""
    rows = tuple(
        _Known(one.challenge, one.given, str(one.path), one.expected, one.graded) for one in known
    )
    return msgspec.msgpack.encode(rows, enc_hook=rows_of)


def taken_over(body: bytes) -> tuple[Submission, ...]:
    """The submissions that these bytes tell of."""
    rows = msgspec.msgpack.decode(body, type=tuple[_Known, ...])
    return tuple(
        Submission(
            one.challenge,
            one.given,
            Path(one.path),
            partial(_same, one.expected),
            partial(_same, one.graded),
        )
        for one in rows
    )


def _same(answer: Reply) -> Reply:
    return answer
