"""The grading process of a run, and what is known of each file that is graded."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property, partial
from pathlib import Path

import msgspec

from trainer.classroom.content import content_digest
from trainer.classroom.orders import Answer, Expect, Graded, NotGraded, Order, Task
from trainer.classroom.stations import Station, StationLostError
from trainer.core.report import Report
from trainer.grading.wire import rows_of
from trainer.pytest_drill.due import Became, Due, all_due, what_became
from trainer.pytest_drill.options import Options, Wanted

_TRIES = 2


class Asking:
    """A station that is started when it is first asked. `failed`: whether any question went without an answer."""

    def __init__(self, packs: tuple[str, ...]) -> None:
        self._packs = packs
        self._station: Station | None = None
        self._answers: dict[Order, Answer] = {}
        self.failed = False

    def ask(self, order: Order, what: str) -> Answer:
        """The answer to an order; one that loses the station is given to another once. Of files that answer one challenge, what is expected is the same."""
        if order not in self._answers:
            self._answers[order] = self._ask(order, what)
        answer = self._answers[order]
        self.failed = self.failed or isinstance(answer, NotGraded)
        return answer

    def _ask(self, order: Order, what: str) -> Answer:
        lost = ""
        for _ in range(_TRIES):
            try:
                self._station = self._station or Station(self._packs)
                return self._station.ask(order)
            except StationLostError as error:
                lost = str(error)
                self.close()
            except BaseException:
                self.close()
                raise
        return NotGraded(
            f"{what} ended the grading process {_TRIES} times ({lost}). `attn-drill doctor` shows what this machine can do."
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
        expected: Callable[[], Answer],
        graded: Callable[[], Answer],
    ) -> None:
        self.challenge, self.given, self.path = challenge, given, path
        self._expect, self._grade = expected, graded

    @cached_property
    def expected(self) -> Answer:
        """The report of a right answer."""
        return self._expect()

    @cached_property
    def graded(self) -> Answer:
        """The report of the file; where the tests cannot be known, it is not graded."""
        return self.expected if isinstance(self.expected, NotGraded) else self._grade()

    @property
    def no_tests(self) -> str:
        """Why the tests cannot be known, in a sentence; "" where they can."""
        return self.expected.sentence if isinstance(self.expected, NotGraded) else ""

    @property
    def trouble(self) -> str:
        """Why there is no report of the file, in a sentence; "" where there is one."""
        return self.graded.sentence if isinstance(self.graded, NotGraded) else ""

    @cached_property
    def due(self) -> tuple[Due, ...]:
        """The tests, which must be known."""
        assert isinstance(self.expected, Graded)
        return all_due(self.expected.report)

    @property
    def report(self) -> Report:
        """The report of the file, which must be graded."""
        assert isinstance(self.graded, Graded)
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


def _expected(options: Options, asking: Asking, one: Wanted) -> Answer:
    answer = asking.ask(
        Expect(options.packs, one.challenge.id, options.seed),
        f"Telling what {one.challenge.id} asks",
    )
    if isinstance(answer, Graded) and answer.report.verdict != "passed":
        asking.failed = True
        return NotGraded(
            f"The reference of {one.challenge.id} itself does not pass here under seed {options.seed} ({answer.report.verdict}), so nothing can be graded. "
            f"Run `attn-drill pack check --challenge {one.challenge.id}`."
        )
    return answer


def _graded(options: Options, asking: Asking, one: Wanted) -> Answer:
    try:
        content = content_digest(one.challenge)
    except OSError as error:
        asking.failed = True
        return NotGraded(f"The files of {one.challenge.id} cannot be read: {error}.")
    return asking.ask(
        Task(
            packs=options.packs,
            challenge=one.challenge.id,
            content=content,
            file=one.given,
            source=one.source,
            seed=options.seed,
            seconds=options.seconds,
            memory_mib=options.memory_mib,
            shared=sum(other.challenge == one.challenge for other in options.wanted) > 1,
            weaker=True,
            own=True,  # as with `check`
        ),
        f"Grading {one.given}",
    )


class _Known(msgspec.Struct, frozen=True):
    challenge: str
    given: str
    path: str
    expected: Answer
    graded: Answer


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


def _same(answer: Answer) -> Answer:
    return answer
