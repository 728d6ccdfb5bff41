"""Cases for rotary position embedding: the tables alone, then queries and keys turned by tables made here.

Sizes differ within a case, D/2 included, so that no axis passes by luck. T is the number of rows of the tables.
"""

import torch

from trainer.core.words import Case
from trainer.running.returns import unpack


def drive(rope, given):
    """One call of one of the two functions: which, the inputs say."""
    if "head_dim" in given.inputs:
        more = {} if given.base is None else {"base": given.base}
        cos, sin = unpack(rope.rope_cos_sin(given.head_dim, given.max_seq_len, **more), "cos", "sin")
        if given.max_seq_len == 1:  # the sines are all 0, and no tolerance is relative to that
            return {"cos": as_float32(cos)}
        return {"cos": as_float32(cos), "sin": as_float32(sin)}
    more = {} if given.position_ids is None else {"position_ids": given.position_ids}
    q, k = unpack(rope.apply_rope(given.q, given.k, given.cos, given.sin, **more), "q", "k")
    return {"q": q, "k": k}


def as_float32(table):
    """Tables may be float64 as well: nothing in the arguments names a dtype."""
    return table.float() if isinstance(table, torch.Tensor) and table.dtype == torch.float64 else table


def tables_case(name, T, D, base=None, **more):
    """One case of `rope_cos_sin`; base None leaves it out of the call."""
    return Case(
        name=name,
        inputs={"head_dim": D, "max_seq_len": T, "base": base},
        dims={"cos": "T D"} if T == 1 else {"cos": "T D", "sin": "T D"},
        sizes={"T": T, "D": D},
        gradients=False,
        **more,
    )


def apply_case(draw, name, B, L, H, Hkv, D, T, positions=None, base=10000.0, scale=1.0, **more):
    """One case of `apply_rope` with q, k ~ N(0, scale²) of these sizes."""
    cos, sin = tables(T, D, base)
    inputs = {"q": draw.normal(B, H, L, D, scale=scale), "k": draw.normal(B, Hkv, L, D, scale=scale)}
    return Case(
        name=name,
        inputs=inputs | more.pop("inputs", {}) | {"cos": cos, "sin": sin, "position_ids": positions},
        dims={"q": "B H L D", "k": "B Hkv L D"},
        sizes={"B": B, "L": L, "H": H, "Hkv": Hkv, "D": D, "T": T},
        constants=frozenset({"cos", "sin"}),
        **more,
    )


def tables(T, D, base):
    """cos and sin, each [T, D], float64."""
    column = torch.arange(D, dtype=torch.float64) % (D // 2)
    angles = torch.arange(T, dtype=torch.float64)[:, None] * base ** (-2 * column / D)
    return angles.cos(), angles.sin()


def scattered(draw, B, L, T):
    """[B, L] positions, B <= T: any of the table's rows, the last one too, in no order, others for every batch item."""
    positions = draw.integers(B, L, high=T)
    positions[:, 0] = T - 1 - torch.arange(B)
    positions[:, 1] = 0
    return positions


def cases(draw):
    """What a submission is run on."""
    yield tables_case("tables of 5 positions", 5, 6)
    yield tables_case("tables of base 100, else the same", 5, 6, base=100.0)
    yield tables_case("tables of 11 positions", 11, 6)
    yield tables_case("tables of base 500000, an odd number of pairs", 9, 14, base=500000.0)
    yield tables_case("tables of one pair, 5000 positions", 5000, 2)
    yield tables_case("tables of one position", 1, 6)
    yield tables_case("tables of 500 positions, base 1234.5", 500, 8, base=1234.5)
    T, half, base = draw.distinct((12, 30), (3, 9), (50, 5000))
    yield tables_case("tables of random sizes and base", T, 2 * half, base=float(base))

    # Head h holds the unit vector e_h in every token: what comes out are the cosine and the sine, where they belong.
    unit = {"q": torch.eye(4, 6)[None, :, None].expand(2, 4, 5, 6), "k": torch.eye(6)[None, 4:5, None].expand(2, 1, 5, 6)}
    yield apply_case(draw, "unit vectors", 2, 5, 4, 1, 6, 8, inputs={name: one.double() for name, one in unit.items()})
    yield apply_case(draw, "positions 0 to L-1", 3, 5, 4, 2, 14, 11)
    yield apply_case(draw, "tables of base 100, given", 3, 5, 4, 2, 14, 11, base=100.0)
    yield apply_case(draw, "positions of their own for every batch item", 3, 5, 4, 2, 14, 11, scattered(draw, 3, 5, 11))
    falling = 12 - torch.arange(5) // 2 - torch.tensor([[0], [7]])
    yield apply_case(draw, "repeated and descending positions", 2, 5, 6, 3, 8, 13, falling)
    yield apply_case(draw, "as many tokens as the tables have rows", 2, 7, 6, 3, 10, 7)
    orders = torch.stack((torch.arange(7).flip(0), torch.arange(7).roll(3)))
    yield apply_case(draw, "as many tokens as rows, in other orders", 2, 7, 6, 3, 10, 7, orders)
    yield apply_case(draw, "one token, far along (a decode step)", 3, 1, 8, 2, 10, 17, torch.tensor([[9], [16], [4]]))
    yield apply_case(draw, "one token, one head, one pair, no positions", 1, 1, 1, 1, 2, 3)
    yield apply_case(draw, "one pair, one head", 3, 6, 1, 1, 2, 9, scattered(draw, 3, 6, 9))
    yield apply_case(draw, "as many key heads as query heads", 2, 5, 3, 3, 8, 9, scattered(draw, 2, 5, 9), base=500.0)
    B, L, groups, Hkv, half, more = draw.distinct((2, 3), (6, 9), (2, 5), (2, 4), (4, 7), (3, 30))
    yield apply_case(draw, "random sizes", B, L, groups * Hkv, Hkv, 2 * half, L + more, scattered(draw, B, L, L + more))
    yield apply_case(draw, "tables of 9000 rows", 3, 5, 4, 2, 6, 9000, scattered(draw, 3, 5, 9000), base=500.0)
    yield apply_case(draw, "2500 tokens, no positions", 1, 2500, 2, 1, 4, 2501)
    yield apply_case(draw, "tiny values, a batch of one", 1, 6, 4, 2, 10, 7, scattered(draw, 1, 6, 7), scale=1e-7)
    yield apply_case(draw, "float64, one key head", 2, 5, 6, 1, 8, 9, scattered(draw, 2, 5, 9), base=500000.0, dtype="float64")
    yield apply_case(draw, "bfloat16", 3, 7, 4, 2, 10, 300, scattered(draw, 3, 7, 300), dtype="bfloat16")
    yield apply_case(draw, "bfloat16, no positions", 3, 7, 4, 2, 10, 9, dtype="bfloat16")
    yield from laid_out(draw)
    yield from probes(draw)


def laid_out(draw):
    """Inputs that are not contiguous."""
    turned = dict.fromkeys(("q", "k", "position_ids"), "transposed")
    yield apply_case(draw, "non-contiguous q, k and positions", 2, 5, 6, 3, 8, 9, scattered(draw, 2, 5, 9), layout=turned, check="properties")
    every = dict.fromkeys(("q", "k", "cos", "sin", "position_ids"), "strided")
    yield apply_case(draw, "parts of larger tensors", 3, 7, 4, 2, 10, 9, scattered(draw, 3, 7, 9), layout=every, check="properties")
    same = {"q": draw.normal(1, 6, 5, 8).expand(2, 6, 5, 8), "k": draw.normal(1, 3, 5, 8).expand(2, 3, 5, 8)}
    positions = (4 + torch.arange(5)).expand(2, 5)
    expanded = dict.fromkeys(("q", "k", "position_ids"), "expanded")
    yield apply_case(draw, "expanded q, k and positions", 2, 5, 6, 3, 8, 11, positions, inputs=same, layout=expanded, check="properties")


def probes(draw):
    """Pairs small, large of one head dim: a loop over anything else dispatches more operations."""
    yield tables_case("tables, few positions", 4, 20, probe="vectorised")
    yield tables_case("tables, many positions", 40, 20, probe="vectorised")
    yield apply_case(draw, "few and small", 2, 3, 4, 2, 4, 5, scattered(draw, 2, 3, 5), probe="vectorised")
    yield apply_case(draw, "many and large", 7, 9, 36, 6, 4, 11, scattered(draw, 7, 9, 11), probe="vectorised")
    yield apply_case(draw, "few and small, no positions", 2, 3, 4, 2, 4, 5, probe="vectorised")
    yield apply_case(draw, "many and large, no positions", 7, 9, 36, 6, 4, 11, probe="vectorised")
