"""A process that grades one submission after another: torch imported once, a zygote forked before any thread or reference.

    python -m trainer.classroom.station PACK…    orders on stdin, answers on stdout (`orders`)

It ends with its stdin, also in the middle of a grading. What it knows of an exam (expected values, the bank of known mistakes) is kept for the next.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: a process with threads forks badly

from trainer.classroom.content import content_digest, found_in
from trainer.classroom.orders import (
    Answer,
    Expect,
    Graded,
    NotGraded,
    Order,
    Task,
    packed,
    unpacked_order,
)
from trainer.content import packs
from trainer.core.words import Challenge, DrillError, GraderError
from trainer.grading.grader import Grader
from trainer.grading.wire import framed, read_message, write_all
from trainer.running.run import SupersededError
from trainer.running.zygote import Limits

_MOST_SHARED = 8  # exams kept: an assignment's challenges


class _Station:
    def __init__(self, grader: Grader) -> None:
        self._grader = grader
        self._digests: dict[Path, str] = {}
        self._shared: list[tuple[Challenge, int]] = []
        self._refusals: dict[bool, str] = {}

    def answer(self, order: Order) -> Answer:
        """Carry an order out."""
        try:
            if isinstance(order, Expect):
                challenge = found_in(order.packs, order.challenge)
                return Graded(
                    self._grader.grade(
                        challenge, packs.solution(challenge), challenge.file_name, order.seed
                    )
                )
            return self._graded(order)
        except (DrillError, GraderError) as error:
            return NotGraded(str(error))

    def _graded(self, task: Task) -> Answer:
        if not task.own and (sentence := self._refusal(weaker=task.weaker)):
            return NotGraded(sentence, for_all=True)
        challenge = found_in(task.packs, task.challenge)
        digest = self._digests.setdefault(challenge.folder, content_digest(challenge))
        if digest != task.content:
            return NotGraded(
                f"{challenge.id} is not the same here ({digest[:12]}) as where the grading was started ({task.content[:12]}): "
                "another version of attn-drill or of the pack. Install the same on every machine.",
                for_all=True,
            )
        self._grader.limits = Limits(task.seconds, task.memory_mib << 20)
        self._make_room(challenge, task)
        try:
            report = self._grader.grade(
                challenge, task.source, task.file, task.seed, diagnosed=task.diagnosed
            )
        finally:
            if not task.shared:
                self._grader.forget(challenge)
        return Graded(report)

    def _refusal(self, *, weaker: bool) -> str:
        """Return why no submission may be graded here, or "". It is found out once.

        A weaker isolation can be accepted. A copy of a reference that lies open, where a sandbox
        hides all others, cannot: whoever finds it passes.
        """
        if weaker not in self._refusals:
            self._refusals[weaker] = self._found_refusal(weaker=weaker)
        return self._refusals[weaker]

    def _found_refusal(self, *, weaker: bool) -> str:
        isolated = None if weaker else self._grader.isolated()
        copies = self._grader.readable_copies() if isolated is None else isolated.copies
        if copies.found and not copies.originals:
            return copies.sentence
        if isolated is None or not isolated.open:
            return ""
        return (
            f"On this machine a submission could {', '.join(isolated.open)}. "
            "Grade where `attn-drill doctor` shows no OPEN, or accept it with --allow-weaker-isolation."
        )

    def _make_room(self, challenge: Challenge, task: Task) -> None:
        """Have what submissions of one exam share ready; forget the oldest exam where there are many."""
        if not task.shared:
            return
        if (challenge, task.seed) not in self._shared:
            self._shared.append((challenge, task.seed))
            if len(self._shared) > _MOST_SHARED:
                oldest = self._shared.pop(0)
                self._grader.forget(oldest[0])
        self._grader.hold(challenge, task.seed)


def serve(grader: Grader, orders: int, answers: int) -> None:
    """Answer until there are no more orders."""
    station = _Station(grader)
    while (body := read_message(orders)) is not None:
        try:
            write_all(answers, framed(packed(station.answer(unpacked_order(body)))))
        except SupersededError:  # whoever ordered is gone
            return


def main() -> None:
    """Serve on stdin and stdout."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for whoever grades the class; it then closes our stdin
    orders, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)  # whatever prints does not garble the answers
    gc.collect()
    with Grader([Path(pack) for pack in sys.argv[1:]], interrupt=orders) as grader:
        try:
            serve(grader, orders, answers)
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
