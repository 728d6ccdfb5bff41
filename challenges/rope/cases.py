"""Cases for rotary position embedding: the tables, then queries and keys with tables made here.

T is the number of rows of the tables.
"""

from dataclasses import replace

import torch

from attn_drill.casekit import CaseMaker, RotaryMaker, positions, realistic_call, shaped, suites
from attn_drill.worker.returns import unpack


def drive(rope, given):
    """Call one of the two functions. Leave out a base and positions that are not given."""
    inputs = given.inputs
    if "head_dim" in inputs:
        options = {"base": inputs["base"]} if "base" in inputs else {}
        made = rope.rope_cos_sin(inputs["head_dim"], inputs["max_seq_len"], **options)
        cos, sin = unpack(made, "cos", "sin")
        if inputs["max_seq_len"] == 1:  # there is no relative tolerance if all sines are 0
            return {"cos": as_float32(cos)}
        return {"cos": as_float32(cos), "sin": as_float32(sin)}
    rows = inputs["position_ids"]
    options = {} if rows is None else {"position_ids": rows}
    q, k = unpack(rope.apply_rope(given.q, given.k, given.cos, given.sin, **options), "q", "k")
    return {"q": q, "k": k}


def as_float32(table):
    """Return a table in float32. It may be float64, because no argument sets its dtype."""
    is_float64 = isinstance(table, torch.Tensor) and table.dtype == torch.float64
    return table.float() if is_float64 else table


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = CaseMaker(draw, inputs={}, outputs={"cos": "T D", "sin": "T D"})

    def tables(name, T, D, outputs=None, **base):
        inputs = {"head_dim": D, "max_seq_len": T, **base}
        return case(name, T=T, D=D, inputs=inputs, outputs=outputs, gradients=False)

    yield tables("tables of 5 positions", 5, 6)
    yield tables("tables of base 100, else the same", 5, 6, base=100.0)
    yield tables("tables of 11 positions", 11, 6)
    yield tables("tables of base 500000, an odd number of pairs", 9, 14, base=500000.0)
    yield tables("tables of one pair, 5000 positions", 5000, 2)
    yield tables("tables of one position", 1, 6, outputs={"cos": "T D"})
    yield tables("tables of 500 positions, base 1234.5", 500, 8, base=1234.5)
    T, half, base = draw.distinct((12, 30), (3, 5), (50, 5000))
    yield tables("tables of random sizes and base", T, 2 * half, base=float(base))
    few, many = tables("growing tables, small", 4, 20), tables("growing tables, large", 40, 20)
    yield replace(few, probe="vectorised", larger=replace(many, probe="vectorised"))
    yield from map(with_tables, rotations(draw))


def with_tables(case):
    """Return the same case with tables for its base. The tables get no gradients."""
    inputs, layout = dict(case.inputs), dict(case.layout)
    T, D, base = case.sizes["T"], case.sizes["D"], inputs.pop("base", 10000.0)
    column = torch.arange(D, dtype=torch.float64) % (D // 2)
    angles = torch.arange(T, dtype=torch.float64)[:, None] * base ** (-2 * column / D)
    inputs |= {"cos": angles.cos(), "sin": angles.sin()}
    if "strided" in layout.values():
        layout |= {"cos": "strided", "sin": "strided"}
    larger = case.larger and with_tables(case.larger)
    constants = frozenset({"cos", "sin"})
    return replace(case, inputs=inputs, layout=layout, constants=constants, larger=larger)


def rotations(draw):
    """Yield cases of `apply_rope` that have no tables yet."""
    dims = {"q": "B H L D", "k": "B Hkv L D"}
    case = RotaryMaker(draw, inputs=dims, outputs=dims)
    # Every token of head h is the unit vector e_h, so the output consists of cosines and sines.
    unit = torch.eye(6)[None, :, None].expand(2, 6, 5, 6)
    units = {"inputs": {"q": unit[:, :4], "k": unit[:, 4:5]}, "positions": None}
    yield case("unit vectors", B=2, L=5, H=4, Hkv=1, D=6, T=8, **units)
    sizes = {"B": 3, "L": 5, "H": 4, "Hkv": 2, "D": 14, "T": 23}
    yield case("no positions", positions=None, **sizes)
    yield from positions.orders(case, **sizes)
    yield from positions.full_table(case, B=2, L=7, H=6, Hkv=3, D=10)
    yield from positions.bases(case, **sizes)
    yield case(
        "one token, one head, one pair, no positions",
        B=1,
        L=1,
        H=1,
        Hkv=1,
        D=2,
        T=3,
        positions=None,
    )
    yield case("one pair, one head", B=3, L=6, H=1, Hkv=1, D=2, T=9)
    yield case("as many key heads as query heads", B=2, L=5, H=3, Hkv=3, D=8, T=9, equal="H Hkv")
    ranges = {"B": (2, 3), "L": (6, 9), "H": (2, 5), "Hkv": (2, 4), "D": (4, 7), "T": (11, 40)}
    yield case("random sizes", **draw.sizes(times={"H": "Hkv", "D": 2}, **ranges))
    yield from positions.far_along(case, B=2, L=5, H=6, Hkv=1, D=16)
    yield case("2500 tokens, no positions", B=1, L=2500, H=2, Hkv=1, D=4, T=2501, positions=None)
    tiny = {name: 1e-7 * value for name, value in case.drawn(sizes).items()}
    yield case("tiny values", inputs=tiny, **sizes)
    yield case("bfloat16, no positions", positions=None, dtype="bfloat16", **sizes)
    yield from suites.layouts(case, **sizes)
    small = {"B": 2, "L": 3, "H": 8, "Hkv": 4, "D": 12, "T": 6}
    large = {"B": 7, "L": 9, "H": 40, "Hkv": 5, "T": 13}
    yield from suites.growth(case, "everything", small, large)
    yield from suites.growth(case, "everything, no positions", small, large, positions=None)


def realistic():
    """Return the call that is measured after a pass: the rotation of a whole layer."""
    return realistic_call(
        "32 heads of 128, B = 1, L = 2048",
        q=shaped(1, 32, 2048, 128),
        k=shaped(1, 8, 2048, 128),
        cos=shaped(2048, 128),
        sin=shaped(2048, 128),
        position_ids=None,
    )
