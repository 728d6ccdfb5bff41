"""Cases for multi-head latent attention. Sizes differ within a case; the cases where some agree say so.

Positions are scattered: attention with RoPE sees only their differences, and 0 .. L-1 is what an implementation makes itself.
"""

import torch

from trainer.core.words import Case


def drive(attention, given):
    """One call; with `later`, one more on the same object, with a mask and positions of its own."""
    outputs = {"out": call(attention, given.x, given.mask, given.position_ids)}
    if given.later is not None:
        outputs["later"] = call(attention, given.later, given.later_mask, given.later_positions)
    return outputs


def call(attention, x, mask, position_ids):
    """Only what there is, by keyword."""
    options = {"mask": mask, "position_ids": position_ids}
    return attention(x, **{name: value for name, value in options.items() if value is not None})


def case(draw, name, B, L, H, mask=None, positions=None, M=10, ranks=(9, 8), Dn=6, Dr=4, Dv=5, later=(None, None, None), dims="B L M", **more):
    """One case with x ~ N(0, 1). ranks: q_rank and kv_rank; Dn, Dr, Dv: nope_dim, rope_dim, v_dim; later: x, mask and positions of a second call."""
    Rq, Rkv = ranks
    again = {} if later[0] is None else {"later": "B Llater M"}
    required = {"d_model": M, "num_heads": H, "q_rank": Rq, "kv_rank": Rkv, "nope_dim": Dn, "rope_dim": Dr, "v_dim": Dv}
    inputs = {"x": draw.normal(B, L, M), "mask": mask, "position_ids": positions}
    return Case(
        name=name,
        inputs=inputs | dict(zip(("later", "later_mask", "later_positions"), later, strict=True)) | more.pop("inputs", {}),
        dims={"out": dims} | again,
        sizes={"B": B, "L": L, "H": H, "M": M, "Rq": Rq, "Rkv": Rkv, "Dn": Dn, "Dr": Dr, "Dv": Dv} | ({"Llater": later[0].shape[1]} if again else {}),
        init=required | more.pop("init", {}),
        **more,
    )


def scattered(draw, B, L, high=20):
    """int64 [B, L] below `high` in no order; every line of two or more has the last one and position 0, each at a place of its own."""
    positions = draw.integers(B, L, high=high)
    if L > 1:
        item = torch.arange(B)
        positions[item, item % L] = high - 1
        positions[item, (item + 1) % L] = 0
    return positions


def shuffled(draw, L):
    """[1, L]: 0 .. L-1, an odd number, in an order that neither rises nor falls."""
    return ((draw.integers(high=L) + 2 * torch.arange(L)) % L)[None]


def cases(draw):
    """What a submission is run on."""
    apart = {"M": 20, "parameters": {"o_proj.weight": torch.eye(20)}}
    yield case(draw, "heads apart (o_proj is the identity)", 2, 7, 4, dims="B L (H Dv)", **apart)
    yield case(draw, "heads apart, scattered positions", 2, 7, 4, positions=scattered(draw, 2, 7), dims="B L (H Dv)", **apart)
    yield case(draw, "no mask, no positions, values as wide as d_model", 3, 5, 2, M=12, Dn=7, Dv=6)
    yield case(draw, "positions that start far along", 2, 7, 3, positions=1040 + 3 * torch.arange(7).expand(2, 7), Dr=8, Dn=5)
    falling = 12 - torch.arange(5) // 2 - torch.tensor([[0], [7]])
    yield case(draw, "repeated and descending positions", 2, 5, 3, positions=falling)
    yield case(draw, "one batch item, shuffled positions", 1, 7, 3, positions=shuffled(draw, 7))
    yield case(draw, "base 100", 2, 7, 3, positions=scattered(draw, 2, 7), Dr=8, Dn=4, init={"rope_base": 100.0})
    yield case(draw, "base 500000", 2, 5, 3, positions=scattered(draw, 2, 5, high=2000), Dr=14, init={"rope_base": 500000.0})
    mask = draw.keep(3, 1, 5, 5)
    yield case(draw, "one pair in the rotary part, one head", 3, 5, 1, mask=mask, positions=scattered(draw, 3, 5), Dr=2, check="masks")
    yield case(draw, "one token, one head", 1, 1, 1, positions=torch.tensor([[17]]))
    yield case(draw, "one token of every sequence", 3, 1, 4, positions=torch.tensor([[9], [160], [47]]))
    yield case(draw, "base 100, no positions, the widths of other cases", 3, 5, 2, M=12, Dn=7, Dv=6, init={"rope_base": 100.0})
    yield case(draw, "values as wide as queries and keys", 2, 5, 3, Dn=6, Dr=4, Dv=10)
    yield case(draw, "float64, no mask, no positions", 2, 7, 3, Dr=14, dtype="float64")
    yield case(draw, "bfloat16, no mask, no positions", 3, 5, 4, dtype="bfloat16")
    yield case(draw, "ranks larger than d_model", 2, 5, 3, M=7, ranks=(12, 14), positions=scattered(draw, 2, 5))
    B, L, H, M, Rq, Rkv, Dn, half, Dv = draw.distinct((2, 3), (6, 9), (2, 5), (8, 20), (4, 20), (4, 20), (4, 9), (2, 4), (3, 9))
    sizes = {"M": M, "ranks": (Rq, Rkv), "Dn": Dn, "Dr": 2 * half, "Dv": Dv}
    yield case(draw, "random sizes", B, L, H, positions=scattered(draw, B, L, high=300), **sizes)
    yield case(draw, "tiny values", 2, 5, 3, positions=scattered(draw, 2, 5), parameters={"v_up.weight": draw.normal(15, 8, scale=1e-7)})
    yield case(draw, "float64, causal", 2, 5, 3, mask=draw.causal(5), positions=scattered(draw, 2, 5, high=900), Dr=14, dtype="float64", check="masks")
    padding = draw.padding(3, 7)[:, None, None, :]
    yield case(draw, "bfloat16, padding", 3, 7, 2, mask=padding, positions=301 + scattered(draw, 3, 7, high=600), dtype="bfloat16", check="masks")
    # Cosines bear the 8 bits of bfloat16; positions, frequencies and angles do not, this far along. 500 makes frequencies that it rounds much.
    far = scattered(draw, 2, 9, high=2000)
    yield case(draw, "bfloat16, positions up to 1999", 2, 9, 3, positions=far, M=15, Dr=16, init={"rope_base": 500.0}, dtype="bfloat16")
    yield from alike(draw)
    yield from masked(draw)
    zeros = {"x": draw.normal_with_zeros(2, 5, 10)}
    yield case(draw, "a token of zeros", 2, 5, 3, inputs=zeros)
    yield case(draw, "a token of zeros, causal", 2, 5, 3, mask=draw.causal(5), inputs=zeros, check="masks")
    yield from laid_out(draw)
    yield from probes(draw)


def alike(draw):
    """Sizes that agree, where what is lined up or wired wrongly raises nothing."""
    yield case(draw, "as many batch items as heads", 4, 5, 4, positions=scattered(draw, 4, 5))
    yield case(draw, "as many batch items as tokens", 5, 5, 3, positions=scattered(draw, 5, 5))
    yield case(draw, "as many heads as tokens", 2, 5, 5, positions=scattered(draw, 2, 5))
    yield case(draw, "as many of everything", 4, 4, 4, positions=scattered(draw, 4, 4), M=4, ranks=(4, 4), Dn=4, Dr=4, Dv=4)
    yield case(draw, "ranks as wide as d_model", 2, 5, 3, positions=scattered(draw, 2, 5), ranks=(10, 10))
    yield case(draw, "parts of one width", 2, 5, 3, positions=scattered(draw, 2, 5), Dn=6, Dr=6, Dv=6)


def masked(draw):
    """Every shape of mask, and scores of ±200 under it."""
    B, L, H, M = 3, 5, 4, 10
    # As many batch items as the mask's first axis is long, which is still not the batch.
    alike = {"causal mask [Lq, Lk]": L, "mask of three dims [H, Lq, Lk]": H}
    for name, mask in draw.masks(B, H, L, L).items():
        batch = alike.get(name, B)
        yield case(draw, name, batch, L, H, mask=mask, positions=scattered(draw, batch, L), check="masks")
    # Feature 0 of x is a key's score for every query: it comes through feature 0 of the key/value latent. Feature 1 is 1 and makes
    # q[..., 0] = sqrt(Dn + Dr) through the query latent; with `turned` it is -sqrt(Dn + Dr) in some heads, so that their maxima differ.
    Rq, Rkv, Dn, Dr, Dv = 9, 8, 6, 4, 5
    q_down, kv_down = draw.normal(Rq, M, scale=M**-0.5), draw.normal(Rkv, M, scale=M**-0.5)
    q_up, k_up, v_up = draw.normal(H * Dn, Rq, scale=Rq**-0.5), draw.normal(H * Dn, Rkv, scale=Rkv**-0.5), draw.normal(H * Dv, Rkv, scale=Rkv**-0.5)
    q_down[0], q_down[:, :3] = 0, 0
    q_down[0, 1] = 1
    kv_down[:2], kv_down[:, :3] = 0, 0
    kv_down[0, 0], kv_down[1, 2] = 1, 1
    q_up[::Dn], k_up[::Dn], q_up[:, 0], k_up[:, :2] = 0, 0, 0, 0
    q_up[::Dn, 0] = (Dn + Dr) ** 0.5
    k_up[::Dn, 0] = 1
    v_up[:, 0] = 0
    names = ("q_down", "kv_down", "q_up", "k_up", "v_up")
    parameters = {f"{name}.weight": weight for name, weight in zip(names, (q_down, kv_down, q_up, k_up, v_up), strict=True)}
    k_rope = draw.normal(Dr, M, scale=M**-0.5)
    k_rope[:, :3] = 0
    parameters["k_rope.weight"] = k_rope
    # A score of 120 is 10 times 12, and o_proj is small: so right answers lose little precision in their gradients.
    q_of_ones, k_of_ones, small = q_up.clone(), k_up.clone(), draw.normal(M, H * Dv, scale=0.01 * M**-0.5)
    q_of_ones[::Dn, 0] *= 10
    k_of_ones[::Dn, 0] = 12
    ordinary = parameters | {"q_up.weight": q_of_ones, "k_up.weight": k_of_ones, "o_proj.weight": small}
    sign = torch.tensor([1.0, -1.0, -1.0, 1.0])
    turned = parameters | {"q_up.weight": (q_up.view(H, Dn, Rq) * torch.cat((sign[:, None], torch.ones(H, Dn - 1)), dim=1)[..., None]).flatten(0, 1)}

    def scored(name, scores, mask, weights=parameters, gradients=False, values=0.0):
        """`values` is a large part of each token's values.

        Without gradients where allowed scores are large: there the rounding of right answers shows in them, magnified by 200.
        """
        x = draw.normal(B, L, M)
        x[..., 0], x[..., 1], x[..., 2] = scores, 1, values
        return case(draw, name, B, L, H, inputs={"x": x}, mask=mask, parameters=weights, gradients=gradients, check="masks")

    odd = torch.tensor([True, False, True, False, True])
    yield scored("masked scores of +120 beside ordinary ones", torch.where(odd, 0.0, 1.0), odd.expand(L, L), weights=ordinary, gradients=True)
    # Any weight that is not exactly 0 shows in front of values this large.
    large = torch.where(odd, 0.0, 1e30)
    yield scored("masked scores of +200 and values of 1e30 beside -200", torch.where(odd, -200.0, 200.0), odd.expand(L, L), values=large)
    turns = torch.stack([odd, ~odd] * L)[:L]
    yield scored("a row of scores near -200, the next near +200", torch.where(odd, -200.0, 200.0), turns)
    yield scored("scores rising to 200, causal", torch.linspace(-200, 200, L), draw.causal(L))
    yield scored("scores falling from 200, no mask", torch.linspace(200, -200, L), None)
    sequences = torch.linspace(200, -200, L) * torch.tensor([[1.0], [-1.0], [1.0]])
    yield scored("scores falling in one head and sequence, rising in the next", sequences, draw.causal(L), weights=turned)


def laid_out(draw):
    """Inputs in memory of other orders, training mode, and two calls in a row."""
    turned, strided, expanded = (dict.fromkeys(("x", "mask", "position_ids"), layout) for layout in ("transposed", "strided", "expanded"))
    mask, positions = draw.keep(2, 1, 5, 5), scattered(draw, 2, 5)
    yield case(draw, "non-contiguous x, mask and positions", 2, 5, 3, mask=mask, positions=positions, layout=turned, check="properties")
    mask, positions = draw.keep(7, 7), scattered(draw, 3, 7)
    yield case(draw, "parts of larger tensors", 3, 7, 2, mask=mask, positions=positions, layout=strided, check="properties")
    same = {"inputs": {"x": draw.normal(1, 5, 10).expand(3, 5, 10)}, "mask": draw.causal(5).expand(3, 4, 5, 5)}
    positions = scattered(draw, 1, 5).expand(3, 5)
    yield case(draw, "expanded x, mask and positions", 3, 5, 4, positions=positions, layout=expanded, check="properties", **same)
    later = (draw.normal(2, 5, 10), draw.keep(5, 5), scattered(draw, 2, 5, high=90))
    mask, positions = draw.keep(5, 5), scattered(draw, 2, 5)
    yield case(draw, "the same sizes again with another mask and other positions", 2, 5, 3, mask=mask, positions=positions, later=later, check="properties")
    later = (draw.normal(2, 5, 10), None, None)
    mask, positions = draw.keep(5, 5), scattered(draw, 2, 5)
    yield case(draw, "the same sizes again, now without mask and positions", 2, 5, 3, mask=mask, positions=positions, later=later, check="properties")
    later = (draw.normal(2, 11, 10), draw.causal(11), scattered(draw, 2, 11, high=90))
    yield case(draw, "a longer sequence afterwards, now with mask and positions", 2, 5, 3, later=later, check="properties")
    yield case(draw, "training mode, no mask", 2, 5, 3, positions=scattered(draw, 2, 5), mode="train", check="train/eval")
    yield case(draw, "training mode, causal", 2, 5, 3, mask=draw.causal(5), positions=scattered(draw, 2, 5), mode="train", check="train/eval")


def probes(draw):
    """Pairs small, large of the same widths: a loop over batch, heads or tokens dispatches more operations.

    No other case has their bases, and the least has 17 positions, so that tables which outlive an object, or grow, are made in both of a pair.
    """
    for few_or_many, (B, L, H) in {"few and small": (2, 17, 4), "many and large": (7, 21, 11)}.items():
        yield case(draw, f"{few_or_many}, no mask, no positions", B, L, H, init={"rope_base": 321.0}, probe="vectorised")
    for few_or_many, (B, L, H) in {"few and small": (2, 3, 5), "many and large": (6, 9, 11)}.items():
        given = {"mask": draw.keep(B, H, L, L), "positions": scattered(draw, B, L, high=31), "init": {"rope_base": 123.0}}
        yield case(draw, f"{few_or_many}, mask and positions", B, L, H, check="masks", probe="vectorised", **given)
    for short_or_long, L in {"short": 33, "long": 300}.items():
        positions = scattered(draw, 2, L, high=400)
        yield case(draw, f"{short_or_long}, no mask", 2, L, 3, positions=positions, init={"rope_base": 231.0}, probe="vectorised")


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "x", "out"


def values_alone(parameters):
    """The same weights with queries of zero: every key scores alike, and a token shows by its value alone."""
    return parameters | {"q_down.weight": 0 * parameters["q_down.weight"]}
