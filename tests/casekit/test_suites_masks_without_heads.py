"""Suites for masks [B, L] and [B, L, L]: every case catches a mistake that no other case catches.

The tables have the same form as in test_suites.py.
"""

from __future__ import annotations

from functools import cache

import pytest

from attn_drill.casekit import Case, CaseMaker, Draw, Projected, suites
from tests.support.case_runs import caught_by, patched
from tests.support.plain_attention import ATTENTION
from tests.support.suites import MASK, SIZES, STAYS, Patch, drive, mask_is, with_maximum
from tests.support.suites import TABLE as OF_HEADS

EVERY = "torch.ones_like(mask)"
SPAN = "mask.cummax(dim=-1).values & mask.flip(-1).cummax(dim=-1).values.flip(-1)"


def renamed(mistakes: dict[str, Patch]) -> dict[str, Patch]:
    """Return a table with padding in place of causal masks, which need an axis for queries."""
    return {name.replace("causal", "padding"): patch for name, patch in mistakes.items()}


TABLE: dict[tuple[str, str], dict[str, Patch]] = {
    ("B L", "masks"): {
        "padding on the right [B, L]": mask_is("mask[:, 0].all()", EVERY),
        "padding on the left [B, L]": mask_is("mask[:, -1].all()", EVERY),
        "mask with holes [B, L]": mask_is("True", SPAN),
    },
    ("B L L", "masks"): {
        "padding on the right [B, 1, L]": mask_is(
            "mask.shape[1] == 1 and mask[..., 0].all()", EVERY
        ),
        "padding on the left [B, 1, L]": mask_is(
            "mask.shape[1] == 1 and mask[..., -1].all()", EVERY
        ),
        "mask with holes [B, 1, L]": mask_is("mask.shape[1] == 1", SPAN),
        "causal and padding [B, L, L]": mask_is(
            "mask.shape[1] > 1 and mask[..., 0].all()", "mask[:, -1:]"
        ),
        "mask with holes [B, L, L]": mask_is("mask.shape[1] > 1", f"mask & {EVERY}.tril()"),
    },
    ("B L", "zero_tokens"): renamed(OF_HEADS["zero_tokens"][1]),
    ("B L", "dtypes"): renamed(OF_HEADS["dtypes"][1]),
    ("B L", "steep_scores"): {
        **OF_HEADS["steep_scores"][1],
        "scores falling in one head and sequence, rising in the next": with_maximum(
            "mask is not None", "scores.amax(dim=-2, keepdim=True).amax(-1, True)"
        ),
    },
    ("B L", "second_calls"): OF_HEADS["second_calls"][1],
}


ROWS = [
    pytest.param(mask, suite, name, id=f"[{mask}] {suite}: {name}")
    for (mask, suite), mistakes in TABLE.items()
    for name, patch in mistakes.items()
    if patch is not STAYS
]


@cache
def made(mask: str, suite: str) -> tuple[str, list[Case]]:
    """Return the plain implementation for masks of these dimensions, and the cases of a suite."""
    case = CaseMaker(
        Draw(1),
        init={"d_model": "M", "num_heads": "H", "num_kv_heads": "Hkv"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask=mask,
        roles=Projected(kv_heads="Hkv"),
    )
    axes = "mask[:, None, None]" if mask == "B L" else "mask[:, None]"
    source = patched(ATTENTION, MASK, f"{MASK}            mask = {axes}\n")
    return source, list(getattr(suites, suite)(case, **SIZES))


@pytest.mark.parametrize(("mask", "suite"), TABLE)
def test_table_is_complete_and_right_code_passes(mask: str, suite: str) -> None:
    """Every case has a reason in the table, and right code passes every case."""
    source, cases = made(mask, suite)
    assert {case.name for case in cases} == set(TABLE[mask, suite])
    assert caught_by(cases, drive, source, source) == set()


@pytest.mark.parametrize(("mask", "suite", "name"), ROWS)
def test_only_this_case_catches_the_mistake(mask: str, suite: str, name: str) -> None:
    """If another case also caught the mistake, this case would be unnecessary."""
    source, cases = made(mask, suite)
    mistaken = patched(source, *TABLE[mask, suite][name])
    assert caught_by(cases, drive, source, mistaken) == {name}
