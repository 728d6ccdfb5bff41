"""Every case of a suite is there for a mistake: the table says for which.

A mistake is a patch of a plain right implementation. The case next to it is the only one of its
suite that catches it. `STAYS` stands for a case whose reason is a comment in the suite.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.casekit.plain import ATTENTION, SEPARATE
from tests.casekit.runner import caught_by, patched
from tests.support.suites import STAYS, TABLE, drive
from trainer.casekit import Case, CaseMaker, Draw, Projected, suites


def self_attention(draw: Draw) -> CaseMaker:
    """Return a maker for the plain implementation."""
    return CaseMaker(
        draw,
        init={"d_model": "M", "num_heads": "H", "num_kv_heads": "Hkv"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B H L L",
        roles=Projected(kv_heads="Hkv"),
    )


def three_inputs(draw: Draw) -> CaseMaker:
    """Return a maker for the implementation with three inputs."""
    return CaseMaker(
        draw,
        init={"d_model": "M", "num_heads": "H"},
        inputs={"query": "B Lq M", "key": "B Lk M", "value": "B Lk M"},
        outputs={"out": "B Lq M"},
        products={"M": "H D"},
        mask="B H Lq Lk",
        roles=Projected(query="query", key="key", value="value"),
    )


ROWS = [
    pytest.param(suite, name, id=f"{suite}: {name}")
    for suite, (_, mistakes) in TABLE.items()
    for name, patch in mistakes.items()
    if patch is not STAYS
]


@cache
def made(suite: str) -> tuple[str, list[Case]]:
    """Return the plain implementation for a suite, and the cases."""
    sizes = TABLE[suite][0]
    maker, source = (three_inputs, SEPARATE) if "Lq" in sizes else (self_attention, ATTENTION)
    return source, list(getattr(suites, suite)(maker(Draw(1)), **sizes))


@pytest.mark.parametrize("suite", TABLE)
def test_the_table_has_every_case_and_plain_code_is_right(suite: str) -> None:
    """No case comes without a reason, and none refuses right code."""
    source, cases = made(suite)
    assert {case.name for case in cases} == set(TABLE[suite][1])
    assert caught_by(cases, drive, source, source) == set()


@pytest.mark.parametrize(("suite", "name"), ROWS)
def test_only_this_case_catches_the_mistake(suite: str, name: str) -> None:
    """A case that another one makes needless would show here."""
    source, cases = made(suite)
    mistaken = patched(source, *TABLE[suite][1][name])
    assert caught_by(cases, drive, source, mistaken) == {name}
