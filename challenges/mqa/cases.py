"""Cases for multi-query attention: all query heads share one head of keys and values."""

from attn_drill.casekit import (
    CaseMaker,
    Projected,
    SecondCall,
    bad_heads,
    realistic_call,
    shaped,
    suites,
)

ROLES = Projected(kv_heads="")


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
        init={"d_model": "M", "num_heads": "H"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B H L L",
        roles=ROLES,
    )
    yield from suites.heads_apart(case, B=2, L=5, H=3, D=4)
    name = "one token, whose value every head passes on (o_proj is the identity)"
    yield from suites.heads_apart(case, name, B=3, L=1, H=2, D=5)
    yield case("no mask", B=3, L=6, H=4, D=5)
    yield case("no biases", B=2, L=6, H=5, D=3, init={"bias": False})
    yield case("as many sequences as heads", B=4, L=6, H=4, D=5, equal="B H", mask="B 1 L L")
    yield case("as many tokens as heads", B=2, L=4, H=4, D=5, equal="L H", mask="B H L L")
    yield case("one head", B=3, L=5, H=1, D=6, mask="B 1 L L")
    yield case("head dim 1", B=2, L=6, H=5, D=1, mask="B H L L")
    yield case("one sequence of one token, one head", B=1, L=1, H=1, D=4)
    yield case("random sizes", **draw.sizes(B=(2, 4), L=(6, 9), H=(2, 5), D=(4, 8)))
    yield from suites.tiny_values(case, B=2, L=3, H=4, D=5)
    yield from suites.dtypes(case, B=4, L=7, H=2, D=6)
    sizes = {"B": 3, "L": 5, "H": 4, "D": 6}
    yield from suites.masks(case, **sizes)
    yield from suites.steep_scores(case, **sizes)
    yield from suites.zero_tokens(case, B=2, L=5, H=4, D=3)
    yield from suites.dropout(case, B=2, L=5, H=3, D=4)
    yield from suites.layouts(case, B=2, L=5, H=4, D=3)
    yield from suites.second_calls(case, B=2, L=6, H=3, D=5)
    # Operations are counted with and without a mask.
    small = {"B": 2, "L": 4, "H": 6, "D": 7, "later": SecondCall(sizes={"B": 3, "L": 5})}
    large = {"B": 8, "L": 11, "H": 13, "later": SecondCall(sizes={"B": 9, "L": 12})}
    yield from suites.growth(case, "everything", small, large, mask="B H L L")
    yield from suites.growth(case, "length, no mask", {"B": 1, "L": 5, "H": 2, "D": 3}, {"L": 300})


refusals = bad_heads


def realistic():
    """Return the call that is measured after a pass: Llama 2 7B with a single key/value head."""
    return realistic_call(
        "a layer of 4096 with 32 heads, B = 1, L = 2048",
        init={"d_model": 4096, "num_heads": 32},
        x=shaped(1, 2048, 4096),
        mask=shaped(2048, 2048, dtype="bool"),
    )
