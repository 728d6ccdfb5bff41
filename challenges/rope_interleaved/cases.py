"""Cases for interleaved rotary position embedding. Sizes differ within a case, D/2 included; the cases where two agree say so."""

import torch

from trainer.core.words import Case


def drive(rope, given):
    """One call; with `later_positions`, one more on the same x. A base of None is left out of the call."""
    optional = {} if given.base is None else {"base": given.base}
    outputs = {"out": rope(given.x, given.position_ids, **optional)}
    if given.later_positions is not None:
        optional = {} if given.later_base is None else {"base": given.later_base}
        outputs["later"] = rope(given.x, given.later_positions, **optional)
    return outputs


def case(name, x, positions, base=None, later_positions=None, later_base=None, **more):
    """One case; the sizes are those of x [B, H, L, D]."""
    return Case(
        name=name,
        inputs={"x": x, "position_ids": positions, "base": base, "later_positions": later_positions, "later_base": later_base},
        dims={"out": "B H L D"} if later_positions is None else {"out": "B H L D", "later": "B H L D"},
        sizes=dict(zip(("B", "H", "L", "D"), x.shape, strict=True)),
        **more,
    )


def scattered(draw, *shape, high=20):
    """Positions below `high` in no order; every line, of two or more, has the last one and position 0, and no line equals the next."""
    positions = draw.integers(*shape, high=high)
    if shape[-1] > 1:
        lines = positions.view(-1, shape[-1])
        item = torch.arange(len(lines))
        lines[item, item % shape[-1]] = high - 1
        lines[item, (item + 1) % shape[-1]] = 0
    return positions


def shuffled(draw, length):
    """0 .. length-1, an odd number, in an order that neither rises nor falls."""
    return (draw.integers(high=length) + 2 * torch.arange(length)) % length


def cases(draw):
    """What a submission is run on."""
    # Head h holds the unit vector e_h in every token: what comes out are the cosine and the sine, where they belong.
    unit = torch.eye(4, 6)[None, :, None].expand(2, 4, 5, 6).double()
    yield case("unit vectors at positions 0 to 4", unit, torch.arange(5))
    yield case("a line of positions for each batch item", draw.normal(3, 4, 5, 14), scattered(draw, 3, 5))
    yield case("one line of positions for the batch", draw.normal(3, 4, 5, 14), scattered(draw, 5))
    yield case("base 100, given", draw.normal(3, 4, 5, 14), scattered(draw, 3, 5), 100.0)
    yield case("base 500000, one line of positions", draw.normal(2, 5, 7, 6), scattered(draw, 7), 500000.0)
    falling = 12 - torch.arange(5) // 2 - torch.tensor([[0], [7]])
    yield case("repeated and descending positions", draw.normal(2, 3, 5, 8), falling)
    yield case("positions that start far along", draw.normal(2, 3, 5, 8), 37 + torch.arange(5))
    yield case("one batch item, shuffled [1, L]", draw.normal(1, 4, 7, 10), shuffled(draw, 7)[None])
    yield case("one batch item, shuffled [L]", draw.normal(1, 4, 7, 10), shuffled(draw, 7))
    yield case("one token, far along (a decode step)", draw.normal(3, 4, 1, 10), torch.tensor([[9], [160], [47]]))
    yield case("one token, one line of positions", draw.normal(3, 4, 1, 10), torch.tensor([23]))
    yield case("one pair, one head, one token", draw.normal(1, 1, 1, 2), torch.tensor([[3]]))
    yield case("one pair, one head, positions beyond 100000", draw.normal(3, 1, 5, 2), 131071 - scattered(draw, 3, 5))
    B, H, L, half, low = draw.distinct((2, 3), (3, 6), (6, 9), (4, 9), (50, 5000))
    yield case("random sizes and base", draw.normal(B, H, L, 2 * half), scattered(draw, B, L), float(low))
    yield case("random sizes, one line of positions", draw.normal(B, L, H, 2 * half), scattered(draw, H))
    yield case("head dim 256", draw.normal(1, 2, 3, 256), scattered(draw, 1, 3), base=500)
    yield case("tiny values", draw.normal(2, 4, 6, 10, scale=1e-7), scattered(draw, 2, 6))
    yield case("positions in the thousands", draw.normal(3, 4, 5, 10), scattered(draw, 3, 5, high=9000))
    yield case("float64", draw.normal(3, 5, 4, 14), scattered(draw, 3, 4), dtype="float64")
    yield case("float64, one line of positions in the thousands", draw.normal(2, 3, 5, 12), scattered(draw, 5, high=5000), 500.0, dtype="float64")
    yield case("bfloat16", draw.normal(3, 4, 7, 10), 301 + 2 * scattered(draw, 3, 7, high=900), dtype="bfloat16")
    yield case("bfloat16, one line of positions", draw.normal(3, 4, 7, 10), 301 + 2 * scattered(draw, 7, high=2000), 500.0, dtype="bfloat16")
    yield from alike(draw)
    yield from laid_out(draw)
    yield from probes(draw)


def alike(draw):
    """Sizes that agree, where angles that are lined up wrongly raise nothing."""
    yield case("as many batch items as heads", draw.normal(4, 4, 5, 6), scattered(draw, 4, 5))
    yield case("as many batch items as tokens", draw.normal(5, 3, 5, 8), scattered(draw, 5, 5))
    yield case("as many heads as tokens", draw.normal(3, 5, 5, 8), scattered(draw, 3, 5))
    yield case("as many batch items as tokens, one line of positions", draw.normal(5, 3, 5, 8), scattered(draw, 5))
    yield case("as many heads as tokens, one line of positions", draw.normal(3, 5, 5, 8), scattered(draw, 5))
    yield case("as many batch items as heads and tokens", draw.normal(4, 4, 4, 10), scattered(draw, 4, 4))
    yield case("as many batch items as heads and tokens, one line of positions", draw.normal(4, 4, 4, 10), scattered(draw, 4))


def laid_out(draw):
    """Inputs that are not contiguous, and two calls in a row."""
    turned, strided, expanded = (dict.fromkeys(("x", "position_ids"), layout) for layout in ("transposed", "strided", "expanded"))
    yield case("non-contiguous x and positions", draw.normal(2, 3, 5, 8), scattered(draw, 2, 5), layout=turned, check="properties")
    yield case("parts of larger tensors", draw.normal(3, 4, 7, 10), scattered(draw, 3, 7), layout=strided, check="properties")
    yield case("parts of larger tensors, one line of positions", draw.normal(3, 4, 7, 6), scattered(draw, 7), layout=strided, check="properties")
    same, positions = draw.normal(1, 6, 5, 8).expand(2, 6, 5, 8), scattered(draw, 1, 5).expand(2, 5)
    yield case("expanded x and positions", same, positions, layout=expanded, check="properties")
    again = {"later_positions": scattered(draw, 2, 5), "later_base": 100.0}
    places = scattered(draw, 2, 5)
    almost = {"base": 10.5, "later_positions": places, "later_base": 10.9}
    yield case("the same positions with bases of 10.5 and 10.9", draw.normal(2, 3, 5, 8), places, **almost, check="properties")
    yield case("the same x at other positions, with another base", draw.normal(2, 3, 5, 8), scattered(draw, 2, 5), **again, check="properties")


def probes(draw):
    """Pairs small, large of one head dim: a loop over anything else dispatches more operations."""
    yield case("few and small", draw.normal(2, 4, 3, 12), scattered(draw, 2, 3), probe="vectorised")
    yield case("many and large", draw.normal(7, 36, 11, 12), scattered(draw, 7, 11), probe="vectorised")
    yield case("few and small, one line of positions", draw.normal(3, 2, 4, 12), scattered(draw, 4), probe="vectorised")
    yield case("many and large, one line of positions", draw.normal(9, 8, 13, 12), scattered(draw, 13), probe="vectorised")
