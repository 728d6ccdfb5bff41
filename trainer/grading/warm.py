"""The grading process of a session: torch imported once, the zygote forked before any thread, the next exam and worker always ready.

    python -m trainer.grading.warm PACK…    orders on stdin, answers on stdout (`wire`)

An order that comes while another is worked at ends that one. It ends with its stdin.
"""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: a process with threads forks badly

from trainer.content.packs import find_in
from trainer.core.words import Challenge, DrillError, GraderError
from trainer.grading.grader import Grader
from trainer.grading.wire import (
    Grade,
    Look,
    Order,
    Prepare,
    Ready,
    Refused,
    Traced,
    Verdict,
    read_message,
    unpacked_order,
    write_message,
)
from trainer.running.run import SupersededError


def serve(grader: Grader, packs: Sequence[Path], orders: int, answers: int) -> None:
    """Do what is ordered until there are no more orders."""
    write_message(answers, Ready())
    desk = _Desk(grader, packs, answers)
    while True:
        if not select.select([orders], [], [], 0)[0]:
            desk.make_ready()
        body = read_message(orders)
        if body is None:
            return
        try:
            desk.obey(unpacked_order(body))
        except SupersededError:
            continue


class _Desk:
    """One challenge at a time, with a seed that nobody has seen yet."""

    def __init__(self, grader: Grader, packs: Sequence[Path], answers: int) -> None:
        self._grader, self._packs, self._answers = grader, packs, answers
        self._challenge: Challenge | None = None
        self._seed = _fresh()

    def make_ready(self) -> None:
        """Have the next exam and worker ready."""
        if self._challenge is None:
            return
        try:
            self._grader.prepare(self._challenge, self._seed)
        except (DrillError, GraderError):
            self._challenge = None  # the next order meets the same, and says so

    def obey(self, order: Order) -> None:
        """Carry an order out and answer it."""
        number = 0 if isinstance(order, Prepare) else order.number
        try:
            challenge = self._found(order.challenge)
            if isinstance(order, Grade):
                self._grade(challenge, order)
            elif isinstance(order, Look):
                trace = self._grader.trace(challenge, order.source, order.file, order.seed)
                write_message(self._answers, Traced(number, trace))
        except (DrillError, GraderError) as error:
            write_message(self._answers, Refused(number, str(error)))

    def _found(self, name: str) -> Challenge:
        """The challenge as it is now: its author may be at work on it."""
        challenge = find_in(self._packs, name)
        if self._challenge is None or self._challenge.id != challenge.id:
            if self._challenge is not None:
                self._grader.forget(self._challenge)
            self._challenge = challenge
        return challenge

    def _grade(self, challenge: Challenge, order: Grade) -> None:
        seed = self._seed if order.seed is None else order.seed
        if seed == self._seed:
            self._seed = _fresh()  # superseded or not, it is used up
        try:
            report = self._grader.grade(
                *(challenge, order.source, order.file, seed),
                diagnosed=True,
                told=lambda early: write_message(
                    self._answers, Verdict(order.number, early, final=False)
                ),
            )
            write_message(self._answers, Verdict(order.number, report, final=True))
        finally:
            self._grader.forget(challenge)


def _fresh() -> int:
    return secrets.randbelow(1 << 31)


def main() -> None:
    """Serve on stdin and stdout."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is the session's to handle; it then closes our stdin
    orders, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)  # whatever prints does not garble the answers
    packs = [Path(one) for one in sys.argv[1:]]
    gc.collect()
    with (
        Grader(packs, interrupt=orders) as grader,
        contextlib.suppress(BrokenPipeError),
    ):  # the session is gone
        serve(grader, packs, orders, answers)


if __name__ == "__main__":
    main()
