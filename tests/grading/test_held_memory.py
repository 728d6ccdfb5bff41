"""The kernel's memory count: noise refuses no submission, and memory that is held is found."""

import sys

import pytest

from trainer.grading.grader import Grader
from trainer.grading.held_memory import held_memory, measured_pair, most_bytes
from trainer.model.case import Case
from trainer.model.submission import Submission
from trainer.packs import pack_reader

SMALL, LARGE = (
    Case(name, {}, {}, {"L": size}, probe="held", limit=size * 1000)
    for name, size in (("small", 16), ("large", 4096))
)
MOST = most_bytes(LARGE)
BASE = 200 << 20  # bytes of a worker in the small case


def test_most_bytes_are_half_of_all_entries() -> None:
    """The limit counts entries, and an entry of float32 has 4 bytes."""
    assert most_bytes(LARGE) == 4096 * 1000 * 4 // 2


@pytest.mark.parametrize(
    ("grown", "own", "is_refused"),
    [
        pytest.param([MOST // 4] * 4, [0] * 4, False, id="little memory"),
        pytest.param([2 * MOST] * 4, [0] * 4, True, id="too much memory"),
        pytest.param([2 * MOST, MOST // 4], [0] * 4, False, id="noise in the submission"),
        pytest.param([2 * MOST] * 4, [0, 3 * MOST // 2], False, id="noise in the reference"),
        pytest.param(
            [2 * MOST, 3 * MOST, 2 * MOST, 3 * MOST], [MOST // 4] * 4, True, id="noise in both"
        ),
    ],
)
def test_too_much_memory_is_measured_again(
    grown: list[int], own: list[int], is_refused: bool
) -> None:
    """A submission is refused only if it takes too much each time.

    The reference is also measured again.
    """
    growths, own_growths = iter(grown), iter(own)
    measured: list[int] = []

    def most_held(case_index: int) -> int:
        return BASE + (next(growths) if case_index == 1 else 0)

    def own_bytes(again: bool) -> int:
        if again or not measured:
            measured[:] = [next(own_growths)]
        return measured[0]

    held = held_memory((SMALL, LARGE), (0, 1), most_held, own_bytes)
    assert held is not None
    assert held.index == 1
    assert bool(held.trouble) == is_refused


def test_no_result_without_a_count_of_the_kernel() -> None:
    """The kernel has no count for a worker that did not end."""
    assert held_memory((SMALL, LARGE), (0, 1), lambda index: 0, lambda again: 0) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives the kernel's count")
def test_gaps_between_kept_tokens_do_not_count(grader: Grader) -> None:
    """A right answer keeps 24 windows as single tokens of 8 KiB, which are 6 MiB.

    The tokens that were dropped between them are given back. A token takes three pages of 4 KiB.
    """
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "rolling-cache")
    path = challenge.solutions / "also_right" / "queue_of_tokens.py"
    answer = Submission(challenge.file_name, pack_reader.read_text(path))
    case_set = grader.case_set(challenge, 1)
    pair = measured_pair(case_set)
    assert pair is not None
    few, many = (
        grader.workers.most_held(case_set.only([index], alone=True), answer, {}) for index in pair
    )
    grown = many - few - grader._measured_growth(case_set, pair)
    assert 6 << 20 <= grown < 12 << 20
