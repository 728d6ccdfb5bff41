"""Every case of the suites for caches catches a mistake that no other case catches."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from attn_drill.casekit import CachedMaker, Case, Draw, Projected, caches
from attn_drill.grading.content import drive_source
from attn_drill.packs import pack_reader
from tests.support.casekit import CACHED, STAYS, Patch, caught_by, patched

SIZES = {"B": 2, "H": 8, "Hkv": 4, "D": 6}
SEEN = "        scores = scores.masked_fill(~seen, -torch.inf)\n"
SOFTMAX = "        weights = torch.softmax(scores, dim=-1)\n"
CACHE = "        cache = (k, v)\n"
OUT = "        return (out, cache)"


def when(condition: str, line: str, before: str) -> Patch:
    """Return a patch that puts a conditional line before another line."""
    return before, f"        if {condition}:\n            {line}\n{before}"


def with_maximum(branch: str, maximum: str) -> Patch:
    """Return a patch that subtracts `maximum` instead of the largest score of a row."""
    return (
        SOFTMAX,
        f"{SOFTMAX}        if {branch}:\n            exp = (scores - {maximum}).exp()\n"
        "            weights = exp / exp.sum(dim=-1, keepdim=True)\n",
    )


ALL_SEEN = "seen = torch.ones_like(seen)"
FROM_START = "seen = torch.arange(k.shape[2]) <= torch.arange(L)[:, None]"
ZERO = "scores = scores.masked_fill(scores == 0, -torch.inf)"
HALF = "scores = scores.bfloat16().to(x.dtype)"
FLOAT = "scores = scores + torch.zeros(1)"
CONTINUE = """        if past_kv is not None:
            k, v = (torch.cat(pair, dim=2) for pair in zip(past_kv, (k, v)))
"""
# The first step after a prefill makes a buffer with spare rows, which later steps fill.
BUFFER = """        if start and hasattr(past_kv[0], "rooms"):
            rooms = past_kv[0].rooms
            for room, part in zip(rooms, cache):
                room[:, :, start : start + L] = part[:, :, start:]
        elif start:
            spare = [part.new_zeros(B, part.shape[1], 9, self.D) for part in cache]
            rooms = [torch.cat(pair, 2) for pair in zip(cache, spare)]
        if start:
            cache = tuple(room[:, :, : start + L] for room in rooms)
            cache[0].rooms = rooms
"""
# A call without a cache continues the last call.
GO_ON = """        if not use_cache and hasattr(self, "kept"):
            k, v = (torch.cat(pair, dim=2) for pair in zip(self.kept, (k, v)))
        self.kept = (k, v)
"""
# The module keeps the caches of all lengths and ignores the given cache.
BY_LENGTH = """        if start:
            past_kv = self.kept[start]
            k, v = (torch.cat(pair, dim=2) for pair in zip(past_kv, (k, v)))
        self.kept = {**self.__dict__.get("kept", {}), start + L: (k, v)}
"""


TABLE: dict[str, dict[str, Patch]] = {
    "steps": {
        "no past, heads apart (o_proj is the identity)": when(
            "past_kv is None and not use_cache", ALL_SEEN, SEEN
        ),
        "no past, use_cache": STAYS,
        "one new token on a past of 7, heads apart": STAYS,
        "a chunk of 3 on a past of 5, heads apart": STAYS,
        "a chunk of 5 on a past of 7, without use_cache": when(
            "start and L > 1 and not use_cache and not self.training", FROM_START, SEEN
        ),
        "one new token on a past of 5, without use_cache": when(
            "L == 1 and not use_cache", FROM_START, SEEN
        ),
        "prefill 7, chunks 1, 4, 4, three decode steps": when(
            "L > 1", "seen = self.__dict__.setdefault(f'seen {L}', seen)", SEEN
        ),
        "training mode: prefill 3, chunk 2, two decode steps": when(
            "self.training and use_cache", "k, v = k.detach(), v.detach()", CACHE
        ),
        "one sequence, token by token": when(
            "past_kv is None and L == 1", "k, v = k[:, :, 1:], v[:, :, 1:]", CACHE
        ),
        "one sequence, a chunk of 3 on a past of one token": when(
            "start == 1 and L > 1", FROM_START, SEEN
        ),
        "training mode, a chunk of 3 on a past of 5, without use_cache": when(
            "start and L > 1 and not use_cache and self.training", FROM_START, SEEN
        ),
    },
    "dtypes": {
        "float64: chunks 2, 4, one token, on a past of 5": when("use_cache", HALF, SEEN),
        "bfloat16: chunks 2, 4, one token, on a past of 5": when("use_cache", FLOAT, SEEN),
        "float64, no past, without use_cache": when("not use_cache", HALF, SEEN),
        "bfloat16, one token on a past of 7, without use_cache": when("not use_cache", FLOAT, SEEN),
    },
    "tiny_values": {"tiny values": (OUT, f"        out = out + 1e-6\n{OUT}")},
    "zero_tokens": {
        "tokens of zeros": when("not start and not use_cache", ZERO, SEEN),
        "tokens of zeros, also in the past": when("start and not use_cache", ZERO, SEEN),
        "tokens of zeros, use_cache": when("not start and use_cache", ZERO, SEEN),
        "tokens of zeros, also in the past, use_cache": when("start and use_cache", ZERO, SEEN),
    },
    "steep_scores": {
        # The gradient of where(seen, exp(x), 0) is NaN if exp(x) overflows.
        "a last token at +200 that earlier tokens do not see": (
            SEEN + SOFTMAX,
            "        top = scores.masked_fill(~seen, -torch.inf).amax(-1, True).detach()\n"
            "        weights = torch.where(seen, (scores - top).exp(), 0)\n"
            "        weights = weights / weights.sum(dim=-1, keepdim=True)\n",
        ),
        "a last token at +200 with values of 1e36, other tokens at -200": (
            SEEN,
            SEEN.replace("-torch.inf", "-300"),
        ),
        "future tokens at +200, a past at -200": STAYS,
        "a past at +200, new tokens falling to -200, without use_cache": with_maximum(
            "not use_cache", "0"
        ),
        "no past, scores rising from -200 to +200": with_maximum("not start", "scores[..., :1]"),
        "scores rising in one head and sequence, falling in the next": with_maximum(
            "L == 4", "scores.amax(dim=1, keepdim=True).amax(-1, True)"
        ),
    },
    "sequences": {
        "a fresh call after a cached one": (CACHE, f"{GO_ON}{CACHE}"),
        "two alternating sequences": (CONTINUE, BY_LENGTH),
        "one prefill continued twice": STAYS,
        "a cache of two steps continued twice": (OUT, f"{BUFFER}{OUT}"),
    },
    "layouts": {
        "non-contiguous inputs": when(
            "past_kv is not None and use_cache", "past_kv[0].view(-1)", CACHE
        ),
        "non-contiguous inputs, float64, without use_cache": when(
            "past_kv is not None and not use_cache", "past_kv[0].view(-1)", CACHE
        ),
        "expanded inputs": (
            "self.q_proj(x)",
            "self.q_proj(x.view(B * L, M) if x.stride(1) == M else x)",
        ),
    },
}


def drive() -> Any:
    """Return the `drive` of a challenge with a cache."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa-kv-cache")
    path = challenge.folder / "cases.py"
    scope: dict[str, Any] = {}
    exec(drive_source(path.read_text(), str(path)), scope)
    return scope["drive"]


@cache
def made(suite: str) -> list[Case]:
    """Return the cases of a suite."""
    case = CachedMaker(
        Draw(1),
        init={"d_model": "M", "num_heads": "H", "num_kv_heads": "Hkv"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        cache="B Hkv L D",
        roles=Projected(kv_heads="Hkv", bias=False),
    )
    return list(getattr(caches, suite)(case, **SIZES))


ROWS = [
    pytest.param(suite, name, id=f"{suite}: {name}")
    for suite, mistakes in TABLE.items()
    for name, patch in mistakes.items()
    if patch is not STAYS
]


@pytest.mark.parametrize("suite", TABLE)
def test_table_is_complete_and_right_code_passes(suite: str) -> None:
    """Every case has a reason in the table, and right code passes every case."""
    cases = made(suite)
    assert {case.name for case in cases} == set(TABLE[suite])
    assert caught_by(cases, drive(), CACHED, CACHED) == set()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("suite", "name"), ROWS)
def test_only_this_case_catches_the_mistake(suite: str, name: str) -> None:
    """If another case also caught the mistake, this case would be unnecessary."""
    mistaken = patched(CACHED, *TABLE[suite][name])
    assert caught_by(made(suite), drive(), CACHED, mistaken) == {name}
