"""Cases for Llama's attention: GQA with RoPE. T is max_seq_len, the number of rows of the table."""

from attn_drill.casekit import (
    Projected,
    RotaryMaker,
    SecondCall,
    bad_groups,
    positions,
    realistic_call,
    shaped,
    suites,
)

ROLES = Projected(kv_heads="Hkv", bias=None)


def drive(attention, given):
    """Call once, or twice on the same object with another mask and other positions."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = {"out": call(attention, given.inputs)}
    if later:
        outputs["later_out"] = call(attention, later)
    return outputs


def call(attention, inputs):
    """Leave out the mask and the positions if there are none."""
    options = {name: inputs[name] for name in ("mask", "position_ids") if inputs[name] is not None}
    return attention(inputs["x"], **options)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = RotaryMaker(
        draw,
        init={"d_model": "M", "num_heads": "H", "num_kv_heads": "Hkv", "max_seq_len": "T"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B H L L",
        roles=ROLES,
    )
    yield from positions.weights_shown(case, B=2, L=5, H=6, Hkv=3, D=8, T=15)
    sizes = {"B": 3, "L": 7, "H": 4, "Hkv": 2, "D": 10, "T": 23}
    yield case("no mask, no positions", **sizes)
    yield from positions.orders(case, **sizes)
    yield from positions.full_table(case, B=2, L=7, H=6, Hkv=3, D=10)
    yield from positions.equal_sizes(case, B=3, L=5, H=4, Hkv=2, D=8, T=17)
    yield from positions.bases(case, **sizes)
    scattered = {"B": 2, "positions": "scattered", "T": 17}
    yield case("one key/value head", L=5, H=4, Hkv=1, D=6, **scattered)
    yield case("as many kv heads as heads", L=7, H=3, Hkv=3, D=8, equal="H Hkv", **scattered)
    yield case("one head, one pair", **{**scattered, "B": 1}, L=6, H=1, Hkv=1, D=2)
    yield case("one token, one head, one pair, table of one row", B=1, L=1, H=1, Hkv=1, D=2, T=1)
    default = {"B": 2, "L": 6, "H": 4, "Hkv": 1, "D": 16}
    yield case("default table and base, positions up to 2047", positions=2048, **default)
    ranges = {"B": (2, 3), "L": (6, 9), "H": (2, 5), "Hkv": (2, 4), "D": (4, 7), "T": (11, 40)}
    (base,) = draw.distinct((50, 5000))
    drawn = draw.sizes(times={"H": "Hkv", "D": 2}, **ranges)
    yield case("random sizes and base", positions="scattered", base=float(base), **drawn)
    yield from positions.far_along(case, B=2, L=9, H=6, Hkv=3, D=16)
    yield from positions.left_padding(case, B=3, L=7, H=4, Hkv=2, D=6, T=11)
    sizes = {"B": 3, "L": 5, "H": 6, "Hkv": 2, "D": 4, "T": 17}
    training = {"mode": "train", "check": "train/eval", **sizes}
    yield case("training mode, causal", mask="causal", positions=None, **training)
    yield case("training mode, no mask, positions", positions="scattered", **training)
    yield from suites.tiny_values(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from suites.masks(case, **sizes)
    yield from suites.steep_scores(case, **sizes)
    yield from suites.zero_tokens(case, positions=None, **sizes)
    yield from suites.layouts(case, **sizes)
    yield from suites.second_calls(case, **sizes)
    longer = SecondCall(sizes={"L": 11})
    name = "no positions, a longer sequence afterwards"
    yield case(name, later=longer, check="properties", **sizes)
    small, large = {"B": 2, "H": 8, "Hkv": 4, "D": 6}, {"B": 7, "H": 36, "Hkv": 12}
    yield from positions.growth(case, small, large)


refusals = bad_groups


def realistic():
    """Return the call that is measured after a pass: a layer of Llama 3 8B with a causal mask."""
    return realistic_call(
        "a layer of Llama 3 8B, B = 1, L = 2048",
        init={"d_model": 4096, "num_heads": 32, "num_kv_heads": 8, "max_seq_len": 2048},
        x=shaped(1, 2048, 4096),
        mask=shaped(2048, 2048, dtype="bool"),
        position_ids=None,
    )
