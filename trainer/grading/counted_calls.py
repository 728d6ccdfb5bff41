"""Choose the calls of a case that are counted: with or without gradients, in which mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from trainer.model.case import Case
from trainer.worker.execution import leaves

if TYPE_CHECKING:
    from trainer.grading.prepared_case import PreparedCase

Way = tuple[bool, bool]  # (is in training mode, records gradients)


@dataclass(frozen=True)
class CountedCalls:
    """The counted calls of one case.

    Attributes:
        first: whether the first call is counted. It has the case's mode and no gradients.
        further: the mode and the gradients of each further counted call.
    """

    first: bool
    further: tuple[Way, ...] = ()


def counted_calls(prepared: Sequence[PreparedCase], *, has_modes: bool) -> list[CountedCalls]:
    """Return the counted calls of each case.

    A call can have two modes, and it can have gradients or not: four kinds of calls. The vectorised
    probes of a module share the four kinds, which halves the cost. The first probe is counted as
    declared, and with gradients in the other mode. The second probe is counted in the two remaining
    kinds. A single probe is counted in all four kinds. If the gradients of a case are not compared,
    no call with gradients is counted.

    Args:
        prepared: all cases, in order.
        has_modes: whether the submission is a module, which has a training mode.
    """
    probes = [case for case in prepared if case.case.probe == "vectorised"]
    larger = [case for case in probes if case.smaller is not None]
    places = {case: place for place, case in enumerate(larger)}
    places |= {case.smaller: place for case, place in places.items() if case.smaller is not None}
    found: list[CountedCalls] = []
    memory_probes = 0
    for case in prepared:
        training = case.case.mode == "train"
        match case.case.probe:
            case None | "held":
                counted = CountedCalls(True)
            case "memory":  # calls are expensive: one probe with gradients is enough
                memory_probes += 1
                counted = CountedCalls(True, ((training, True),) if memory_probes == 1 else ())
            case "vectorised" if has_modes:
                counted = _of_vectorised(training, places.get(case, 0), is_only=len(larger) == 1)
            case _ if has_modes:
                counted = CountedCalls(True, ((training, True), (not training, True)))
            case _:
                counted = CountedCalls(True, ((training, True),))
        if not case.case.gradients:
            # No gradients belong to the task. So a right answer may use what has none, for example
            # the argument `out`.
            counted = CountedCalls(
                counted.first, tuple(way for way in counted.further if not way[1])
            )
        found.append(counted)
    return found


def _of_vectorised(training: bool, place: int, *, is_only: bool) -> CountedCalls:
    """Return the counted calls of a module's vectorised probe.

    Args:
        training: whether the case is in training mode.
        place: the index of the probe among the vectorised probes, from 0.
        is_only: whether the challenge has only one vectorised probe.
    """
    even: tuple[Way, ...] = ((not training, True),)
    odd: tuple[Way, ...] = ((training, True), (not training, False))
    if is_only:
        return CountedCalls(True, even + odd)
    return CountedCalls(True, even) if place % 2 == 0 else CountedCalls(False, odd)


def shape_of_call(case: Case) -> str:
    """Return a key that is equal for cases that differ only in sizes, dtype and values.

    The key holds the mode, the switches of the constructor, the names of the inputs and their
    numbers of dims.
    """
    dims = [(name, tensor.dim()) for name, tensor in leaves(case.inputs)]
    switches = {
        name: value
        for name, value in case.init.items()
        if not isinstance(value, int) or isinstance(value, bool)
    }
    plain = {
        name: value
        for name, value in case.inputs.items()
        if not isinstance(value, Tensor | tuple | list)
    }
    return repr((case.mode, dims, switches, plain))
