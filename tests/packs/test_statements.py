"""The statements that mistakes change, and the pairs of mistakes that fit together."""

from itertools import combinations, islice

import pytest

from trainer.model.challenge import Mistake
from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes
from trainer.packs.statements import fit_together, pairs_of, statements_of

SOURCE = """\
@cache
def double(x):
    total = (
        x
        + x
    )
    if total > 9:
        total = 9
    return total
"""


def mistake(was: str, now: str = "pass") -> Mistake:
    """Return a mistake that replaces this text; the text is its id."""
    return Mistake(was, was, now, "", "")


def test_mistake_changes_the_whole_statement() -> None:
    """A statement of several lines counts from its first line; a head counts alone."""
    assert statements_of(SOURCE, mistake("+ x")) == {3}
    assert statements_of(SOURCE, mistake("total > 9")) == {7}
    assert statements_of(SOURCE, mistake("total = 9")) == {8}
    assert statements_of(SOURCE, mistake("@cache")) == {1}
    assert statements_of(SOURCE, mistake("        total = 9\n    return total")) == {8, 9}


def test_pairs_are_in_different_statements_and_compile() -> None:
    """No pair changes one statement twice, and no pair breaks the other's text."""
    head, body = mistake("total > 9", "total > 8"), mistake("total = 9", "total = 8")
    first, second = mistake("        x\n", "        -x\n"), mistake("+ x", "- x")
    broken = mistake("return total", "return total )")
    found = pairs_of(SOURCE, [head, body, first, second, broken])
    wanted = set(combinations([head, body, first, second], 2)) - {(first, second)}
    assert set(found) == wanted
    assert not fit_together(SOURCE, (head, broken))


@pytest.mark.thorough  # `pack check --pairs` draws these pairs
def test_small_gpt_has_enough_pairs() -> None:
    """At least forty mistakes, and 780 pairs in different statements."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "mini-gpt")
    mistakes = read_mistakes(challenge)
    assert len(mistakes) >= 40
    pairs = pairs_of(pack_reader.solution(challenge), mistakes)
    assert len(list(islice(pairs, 780))) == 780
