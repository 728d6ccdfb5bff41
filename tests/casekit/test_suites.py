"""Every case of a suite catches a mistake that no other case of the suite catches.

The table has a mistake for each case. A mistake is a patch of a plain right implementation. `STAYS`
marks a case that stays for another reason, which a comment in the suite gives.
"""

from __future__ import annotations

from functools import cache

import pytest

from attn_drill.casekit import Case, CaseMaker, Draw, Projected, suites
from tests.support.case_runs import caught_by, patched
from tests.support.plain_attention import ATTENTION, SEPARATE
from tests.support.suites import STAYS, TABLE, drive


def self_attention(draw: Draw) -> CaseMaker:
    """Return a maker for the implementation with one input."""
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
    """Return the plain implementation for a suite, and the cases of the suite."""
    sizes = TABLE[suite][0]
    maker, source = (three_inputs, SEPARATE) if "Lq" in sizes else (self_attention, ATTENTION)
    return source, list(getattr(suites, suite)(maker(Draw(1)), **sizes))


@pytest.mark.parametrize("suite", TABLE)
def test_table_is_complete_and_right_code_passes(suite: str) -> None:
    """Every case has a reason in the table, and right code passes every case."""
    source, cases = made(suite)
    assert {case.name for case in cases} == set(TABLE[suite][1])
    assert caught_by(cases, drive, source, source) == set()


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("suite", "name"), ROWS)
def test_only_this_case_catches_the_mistake(suite: str, name: str) -> None:
    """If another case also caught the mistake, this case would be unnecessary."""
    source, cases = made(suite)
    mistaken = patched(source, *TABLE[suite][1][name])
    assert caught_by(cases, drive, source, mistaken) == {name}
