"""Cases for grouped-query attention: H query heads share Hkv key/value heads."""

import torch

from attn_drill.casekit import (
    CaseMaker,
    Projected,
    Scores,
    bad_groups,
    realistic_call,
    shaped,
    suites,
)

ROLES = Projected(kv_heads="Hkv")


def drive(attention, given):
    """Call once, or twice on the same object with another x and another mask."""
    outputs = {"out": call(attention, given.x, given.mask)}
    if "later_x" in given.inputs:
        outputs["later_out"] = call(attention, given.later_x, given.later_mask)
    return outputs


def call(attention, x, mask):
    """Leave the mask out if there is none."""
    return attention(x) if mask is None else attention(x, mask=mask)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = CaseMaker(
        draw,
        init={"d_model": "M", "num_heads": "H", "num_kv_heads": "Hkv"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B H L L",
        roles=ROLES,
    )
    yield from suites.heads_apart(case, B=2, L=5, H=6, Hkv=3, D=7)
    yield case("no mask", B=3, L=7, H=4, Hkv=2, D=5)
    yield case("one key/value head", B=3, L=5, H=4, Hkv=1, D=6)
    yield case("one key/value head, masked", B=2, L=5, H=6, Hkv=1, D=3, mask="B 1 L L")
    yield case("as many kv heads as heads", B=2, L=7, H=3, Hkv=3, D=5, equal="H Hkv")
    yield case(
        "as many kv heads as heads, masked", B=3, L=7, H=4, Hkv=4, D=5, equal="H Hkv", mask="L L"
    )
    yield case("no biases", B=2, L=5, H=6, Hkv=3, D=4, init={"bias": False})
    yield case("one token, one head", B=1, L=1, H=1, Hkv=1, D=4)
    yield case("one head", B=3, L=5, H=1, Hkv=1, D=4, mask="B 1 L L")
    sizes = {"B": (2, 3), "L": (6, 9), "H": (2, 5), "Hkv": (2, 4), "D": (5, 9)}
    yield case("random sizes", **draw.sizes(times={"H": "Hkv"}, **sizes))
    yield from suites.tiny_values(case, B=2, L=3, H=8, Hkv=4, D=5)
    yield from suites.dtypes(case, B=3, L=7, H=4, Hkv=2, D=6)
    yield from suites.masks(case, B=3, L=5, H=6, Hkv=2, D=4)
    yield from suites.steep_scores(case, B=3, L=5, H=6, Hkv=2, D=4)
    yield from far_above(case, B=2, L=5, H=6, Hkv=3, D=4)
    yield from suites.zero_tokens(case, B=2, L=5, H=8, Hkv=4, D=3)
    yield from suites.dropout(case, B=2, L=5, H=6, Hkv=3, D=4)
    yield from suites.layouts(case, B=3, L=5, H=6, Hkv=2, D=4)
    yield from suites.second_calls(case, B=2, L=5, H=6, Hkv=3, D=4)
    small, large = {"B": 2, "L": 3, "H": 8, "Hkv": 4, "D": 5}, {"B": 7, "L": 9, "H": 36, "Hkv": 6}
    yield from suites.growth(case, "everything", small, large, mask="B H L L")
    small |= {"B": 1, "L": 6, "H": 4, "Hkv": 2}
    yield from suites.growth(case, "length, no mask", small, {"L": 300})


def far_above(case, **sizes):
    """Yield masked scores of 100000, from which no small number can be subtracted."""
    # One key: the difference of two such scores would be lost in rounding.
    hidden = torch.arange(sizes["L"]) == 1
    scores = Scores(torch.where(hidden, 1e5, 0.0), factored=True)
    parts = ROLES.scored(case, case.with_products(sizes), scores)
    yield case("masked scores of 100000", mask=~hidden[None, :], **parts, **sizes)


refusals = bad_groups


def realistic():
    """Return the call that is measured after a pass: a layer of Llama 3 8B with a causal mask."""
    return realistic_call(
        "a layer of Llama 3 8B, B = 1, L = 2048",
        init={"d_model": 4096, "num_heads": 32, "num_kv_heads": 8},
        x=shaped(1, 2048, 4096),
        mask=shaped(2048, 2048, dtype="bool"),
    )
