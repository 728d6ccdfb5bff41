"""Choose in which ways the calls of a case are counted: with gradients or without, in which mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from trainer.model.case import Case
from trainer.worker.execution import leaves

if TYPE_CHECKING:
    from trainer.grading.prepared_case import PreparedCase

Way = tuple[bool, bool]  # in training mode, with gradients


@dataclass(frozen=True)
class CountedCalls:
    """Whether the first call of a case is counted, and in which further ways the case is called.

    The first call is made in the case's own mode, without gradients.
    """

    first: bool
    further: tuple[Way, ...] = ()


def counted_calls(prepared: Sequence[PreparedCase], *, has_modes: bool) -> list[CountedCalls]:
    """Return the counted calls of each case.

    A module's vectorised probes share the four ways between them: the first probe is counted as
    declared and with gradients in the other mode, the second in the two ways that are left. So all
    four are seen at half the cost. A challenge with a single probe has all four of it.

    Args:
        has_modes: whether the challenge asks for a module, which has a training mode.
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
            case "memory":  # each call takes many operations: one probe tells of gradients
                memory_probes += 1
                counted = CountedCalls(True, ((training, True),) if memory_probes == 1 else ())
            case "vectorised" if has_modes:
                counted = _of_vectorised(training, places.get(case, 0), is_only=len(larger) == 1)
            case _ if has_modes:
                counted = CountedCalls(True, ((training, True), (not training, True)))
            case _:
                counted = CountedCalls(True, ((training, True),))
        found.append(counted)
    return found


def _of_vectorised(training: bool, place: int, *, is_only: bool) -> CountedCalls:
    """Return the counted calls of a module's vectorised probe.

    Args:
        place: of the probe among the vectorised probes, from 0.
        is_only: whether there is no other.
    """
    even: tuple[Way, ...] = ((not training, True),)
    odd: tuple[Way, ...] = ((training, True), (not training, False))
    if is_only:
        return CountedCalls(True, even + odd)
    return CountedCalls(True, even) if place % 2 == 0 else CountedCalls(False, odd)


def shape_of_call(case: Case) -> str:
    """Return what a case has in common with others that differ in sizes, dtype and values alone.

    This is the mode, the switches, which inputs there are, and how many dims they have.
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
