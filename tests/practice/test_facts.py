"""Tests of the records of the journal."""

from typing import get_args

import pytest

from attn_drill.practice.facts import AnyFact, Fact
from tests.support.journal import FACTS, Open


def test_the_tests_have_a_fact_of_each_kind() -> None:
    """The tests of the journal, of export and of import rely on this."""
    assert {type(fact) for fact in FACTS} == set(get_args(AnyFact))


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_fact_is_read_as_it_was_written(fact: Fact, opened: Open) -> None:
    """It is found by its kind and its subject, and nothing of it is lost."""
    journal = opened()
    assert journal.add(fact) == fact.id
    assert journal.facts() == journal.facts(type(fact), subject=fact.subject) == [fact]
