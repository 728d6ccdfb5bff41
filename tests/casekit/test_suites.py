"""Every case of a suite catches a mistake that no other case of the suite catches.

The tables have a mistake for each case. A mistake is a patch of a plain right implementation.
`STAYS` marks a case that stays for another reason, which a comment in the suite gives.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from attn_drill.casekit import Case, CaseMaker, Draw, Projected, suites
from tests.support.casekit import (
    ATTENTION,
    MASK,
    SEPARATE,
    SIZES,
    STAYS,
    Patch,
    caught_by,
    drive,
    mask_is,
    patched,
    with_maximum,
)
from tests.support.casekit import TABLE as OF_HEADS

EVERY = "torch.ones_like(mask)"
SPAN = "mask.cummax(dim=-1).values & mask.flip(-1).cummax(dim=-1).values.flip(-1)"


def renamed(mistakes: dict[str, Patch]) -> dict[str, Patch]:
    """Return a table with padding in place of causal masks, which need an axis for queries."""
    return {name.replace("causal", "padding"): patch for name, patch in mistakes.items()}


# The sizes and the mistakes, by the dimensions of the masks and the suite.
TABLE: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Patch]]] = {
    **{("B H L L", suite): row for suite, row in OF_HEADS.items()},
    ("B L", "masks"): (
        SIZES,
        {
            "padding on the right [B, L]": mask_is("mask[:, 0].all()", EVERY),
            "padding on the left [B, L]": mask_is("mask[:, -1].all()", EVERY),
            "mask with holes [B, L]": mask_is("True", SPAN),
        },
    ),
    ("B L L", "masks"): (
        SIZES,
        {
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
    ),
    ("B L", "zero_tokens"): (SIZES, renamed(OF_HEADS["zero_tokens"][1])),
    ("B L", "dtypes"): (SIZES, renamed(OF_HEADS["dtypes"][1])),
    ("B L", "steep_scores"): (
        SIZES,
        {
            **OF_HEADS["steep_scores"][1],
            "scores falling in one head and sequence, rising in the next": with_maximum(
                "mask is not None", "scores.amax(dim=-2, keepdim=True).amax(-1, True)"
            ),
        },
    ),
    ("B L", "second_calls"): (SIZES, OF_HEADS["second_calls"][1]),
}
ROWS = [
    pytest.param(mask, suite, name, id=f"[{mask}] {suite}: {name}")
    for (mask, suite), (_, mistakes) in TABLE.items()
    for name, patch in mistakes.items()
    if patch is not STAYS
]


@cache
def plain(mask: str, suite: str) -> tuple[str, list[Case]]:
    """Return the plain implementation for a suite, and the cases of the suite."""
    sizes, _ = TABLE[mask, suite]
    init = {"d_model": "M", "num_heads": "H"}
    if "Lq" in sizes:
        maker = CaseMaker(
            Draw(1),
            init=init,
            inputs={"query": "B Lq M", "key": "B Lk M", "value": "B Lk M"},
            outputs={"out": "B Lq M"},
            products={"M": "H D"},
            mask="B H Lq Lk",
            roles=Projected(query="query", key="key", value="value"),
        )
        return SEPARATE, list(getattr(suites, suite)(maker, **sizes))
    maker = CaseMaker(
        Draw(1),
        init={**init, "num_kv_heads": "Hkv"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask=mask,
        roles=Projected(kv_heads="Hkv"),
    )
    axes = {"B L": "[:, None, None]", "B L L": "[:, None]", "B H L L": ""}[mask]
    source = patched(ATTENTION, MASK, f"{MASK}            mask = mask{axes}\n")
    return source, list(getattr(suites, suite)(maker, **sizes))


@pytest.mark.parametrize(("mask", "suite"), TABLE)
def test_table_is_complete_and_right_code_passes(mask: str, suite: str) -> None:
    """Every case has a reason in the table, and right code passes every case."""
    source, cases = plain(mask, suite)
    assert {case.name for case in cases} == set(TABLE[mask, suite][1])
    assert caught_by(cases, drive, source, source) == set()


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("mask", "suite", "name"), ROWS)
def test_only_this_case_catches_the_mistake(mask: str, suite: str, name: str) -> None:
    """If another case also caught the mistake, this case would be unnecessary."""
    source, cases = plain(mask, suite)
    mistaken = patched(source, *TABLE[mask, suite][1][name])
    assert caught_by(cases, drive, source, mistaken) == {name}
