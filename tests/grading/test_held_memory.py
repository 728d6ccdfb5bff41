"""Memory as the kernel counts it: noise refuses nobody, and memory that is held is found."""

import pytest

from trainer.grading.held_memory import held_memory, most_bytes
from trainer.model.case import Case

SMALL, LARGE = (
    Case(name, {}, {}, {"L": size}, probe="held", limit=size * 1000)
    for name, size in (("small", 16), ("large", 4096))
)


MOST = most_bytes(LARGE)


BASE = 200 << 20


@pytest.mark.parametrize(
    ("grown", "own", "refused"),
    [
        ([MOST // 4] * 4, [0] * 4, False),
        ([2 * MOST] * 4, [0] * 4, True),
        ([2 * MOST, MOST // 4], [0] * 4, False),  # noise in what the submission takes
        ([2 * MOST] * 4, [0, 3 * MOST // 2], False),  # noise in what the reference takes
        ([2 * MOST, 3 * MOST, 2 * MOST, 3 * MOST], [MOST // 4] * 4, True),
    ],
)
def test_what_is_too_much_is_measured_again(
    grown: list[int], own: list[int], refused: bool
) -> None:
    """Only a submission that takes too much each time is refused, and the reference is measured anew as well."""
    taken, told = iter(grown), iter(own)
    known: list[int] = []

    def most_held(number: int) -> int:
        return BASE + (next(taken) if number == 1 else 0)

    def own_bytes(afresh: bool) -> int:
        if afresh or not known:
            known[:] = [next(told)]
        return known[0]

    held = held_memory((SMALL, LARGE), (0, 1), most_held, own_bytes)
    assert held is not None
    assert bool(held.trouble) == refused


def test_where_the_kernel_does_not_tell_nothing_is_said() -> None:
    """A worker that did not come to its end has no figure."""
    assert held_memory((SMALL, LARGE), (0, 1), lambda number: 0, lambda afresh: 0) is None
