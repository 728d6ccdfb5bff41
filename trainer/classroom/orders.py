"""What travels between whoever grades a class and its stations. Both sides are ours; msgpack in frames, as in `grading.wire`."""

from __future__ import annotations

import msgspec

from trainer.core.report import Report
from trainer.grading.wire import rows_of


class Task(msgspec.Struct, tag=True, frozen=True):
    """Grade this text.

    packs      folders in which the challenge is looked for, the first that has it
    content    digest of the challenge's folders where the task was made: a station that has other content refuses
    shared     whether more submissions under this seed will come
    weaker     whether it may be graded where a submission is not fully shut off
    own        whether it is the user's own file: nobody is graded, so nothing is asked of isolation
    """

    packs: tuple[str, ...]
    challenge: str
    content: str
    file: str
    source: str
    seed: int
    seconds: float
    memory_mib: int
    shared: bool = True
    weaker: bool = False
    diagnosed: bool = True
    own: bool = False


class Expect(msgspec.Struct, tag=True, frozen=True):
    """Tell what a right answer's report says under this seed: the reference's own."""

    packs: tuple[str, ...]
    challenge: str
    seed: int


class Graded(msgspec.Struct, tag=True, frozen=True):
    """A report."""

    report: Report


class NotGraded(msgspec.Struct, tag=True, frozen=True):
    """No verdict, and why, in a sentence. `for_all`: no other submission will fare better."""

    sentence: str
    for_all: bool = False


Order = Task | Expect
Answer = Graded | NotGraded


def packed(message: Order | Answer) -> bytes:
    """The bytes of a message."""
    return msgspec.msgpack.encode(message, enc_hook=rows_of)


def unpacked_order(body: bytes) -> Order:
    """The order that these bytes are."""
    order: Order = msgspec.msgpack.decode(body, type=Order)
    return order


def unpacked_answer(body: bytes) -> Answer:
    """The answer that these bytes are."""
    answer: Answer = msgspec.msgpack.decode(body, type=Answer)
    return answer
