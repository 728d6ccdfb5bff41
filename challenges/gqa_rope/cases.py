"""Cases for grouped-query attention with RoPE. Sizes differ within a case, D/2 included, so that no axis passes by luck.

T is max_seq_len. Positions have gaps and no order, because attention does not feel a shift of all of them.
"""

import torch

from trainer.casekit import refusals as bad_sizes
from trainer.core.words import Case


def drive(attention, given):
    """One call; with `later`, one more on the same object, with a mask and positions of its own."""
    outputs = {"out": attention(given.x, **options(given.mask, given.position_ids))}
    if given.later is not None:
        outputs["later"] = attention(given.later, **options(given.later_mask, given.later_positions))
    return outputs


def options(mask, position_ids):
    """The optional arguments that the case needs."""
    return {name: value for name, value in (("mask", mask), ("position_ids", position_ids)) if value is not None}


def case(draw, name, B, L, H, Hkv, D, T=None, positions=None, mask=None, base=None, dims="B L M", x=None, later=None, **more):
    """One case with x ~ N(0, 1) of these sizes; T and base None leave max_seq_len and rope_base to their defaults."""
    M = H * D
    later, later_mask, later_positions = later or (None, None, None)
    x = draw.normal(B, L, M) if x is None else x
    given = {name: value for name, value in (("max_seq_len", T), ("rope_base", base)) if value is not None}
    more_sizes = ({} if T is None else {"T": T}) | ({} if later is None else {"Llater": later.shape[1]})
    return Case(
        name=name,
        inputs={"x": x, "mask": mask, "position_ids": positions, "later": later, "later_mask": later_mask, "later_positions": later_positions},
        dims={"out": dims} if later is None else {"out": dims, "later": "B Llater M"},
        sizes={"B": B, "L": L, "H": H, "Hkv": Hkv, "D": D, "M": M} | more_sizes,
        init={"d_model": M, "num_heads": H, "num_kv_heads": Hkv} | given,
        **more,
    )


def scattered(draw, B, L, T):
    """[B, L] positions: any of the table's rows, 0 and the last one too, in no order, others for every batch item."""
    positions = draw.integers(B, L, high=T)
    positions[:, 0] = torch.arange(B) % 2 * (T // 2)
    positions[:, -1] = T - 1
    return positions


def read_out(draw, B, L, H, Hkv, D):
    """x and weights with which features 0 .. L-1 of every head *are* the attention weights: token j writes a 1 to feature j."""
    M = H * D
    x = draw.normal(B, L, M)
    x[..., :L] = torch.eye(L)
    value = draw.normal(Hkv, D, M, scale=M**-0.5)
    value[:, :L] = torch.eye(L, M)
    # Queries and keys that are larger than the engine's own, so that scores tell positions apart.
    query, key = draw.normal(M, M, scale=2 * M**-0.5), draw.normal(Hkv * D, M, scale=2 * M**-0.5)
    return x, {"q_proj.weight": query, "k_proj.weight": key, "v_proj.weight": value.flatten(0, 1), "o_proj.weight": torch.eye(M)}


def cases(draw):
    """What a submission is run on."""
    B, L, H, Hkv, D = 2, 5, 6, 3, 8
    x, parameters = read_out(draw, B, L, H, Hkv, D)
    yield case(draw, "heads apart, features 0 to 4 are the weights", B, L, H, Hkv, D, 9, x=x, parameters=parameters, dims="B L (H D)")
    x, parameters = read_out(draw, B, L, H, Hkv, D)
    gaps = torch.tensor([[0, 2, 3, 6, 10], [1, 2, 7, 9, 12]])
    yield case(draw, "the same with gaps between positions", B, L, H, Hkv, D, 13, gaps, x=x, parameters=parameters, dims="B L (H D)")
    yield case(draw, "no mask, no positions", 3, 7, 4, 2, 10, 11)
    yield case(draw, "as many tokens as the table has rows", 2, 7, 6, 3, 10, 7)
    yield case(draw, "positions of their own for every batch item", 3, 5, 4, 2, 14, 23, scattered(draw, 3, 5, 23))
    falling = 12 - torch.arange(5) // 2 * 3 - torch.tensor([[0], [2]])
    yield case(draw, "repeated and descending positions", 2, 5, 6, 3, 8, 13, falling)
    orders = torch.stack((torch.arange(7).flip(0), torch.arange(7).roll(3)))
    yield case(draw, "as many tokens as rows, in other orders", 2, 7, 6, 3, 10, 7, orders)
    yield case(draw, "one key/value head, positions", 2, 5, 4, 1, 6, 17, scattered(draw, 2, 5, 17))
    yield case(draw, "as many key/value heads as query heads, positions", 2, 7, 3, 3, 8, 17, scattered(draw, 2, 7, 17))
    yield case(draw, "one batch item, one head, one pair", 1, 6, 1, 1, 2, 9, scattered(draw, 1, 6, 9))
    yield case(draw, "one batch item, positions", 1, 5, 6, 2, 8, 17, scattered(draw, 1, 5, 17))
    yield case(draw, "one token, far along", 3, 1, 8, 4, 6, 17, torch.tensor([[9], [16], [4]]))
    yield case(draw, "one token, one head, one pair, table of one row", 1, 1, 1, 1, 2, 1)
    yield case(draw, "base 100", 2, 6, 9, 3, 8, 19, scattered(draw, 2, 6, 19), base=100.0)
    yield case(draw, "base 500000, no positions, the sizes of an earlier case", 3, 7, 4, 2, 10, 11, base=500000.0)
    yield case(draw, "table and base by default, positions up to 2047", 2, 6, 4, 1, 16, None, scattered(draw, 2, 6, 2048))
    yield case(draw, "a table of 5000 rows", 3, 7, 6, 2, 4, 5000, scattered(draw, 3, 7, 5000))
    # Where a wrong axis would broadcast.
    yield case(draw, "as many batch items as heads of both kinds, positions", 3, 5, 3, 3, 8, 17, scattered(draw, 3, 5, 17))
    yield case(draw, "as many heads of both kinds as tokens, positions", 2, 5, 5, 5, 6, 17, scattered(draw, 2, 5, 17))
    yield case(draw, "as many heads of both kinds as tokens, no positions", 2, 5, 5, 5, 6, 17)
    yield case(draw, "as many batch items as tokens, positions", 5, 5, 6, 2, 8, 17, scattered(draw, 5, 5, 17))
    B, L, groups, Hkv, half, more, base = draw.distinct((2, 3), (6, 9), (2, 5), (2, 4), (4, 7), (3, 30), (50, 5000))
    yield case(draw, "random sizes and base", B, L, groups * Hkv, Hkv, 2 * half, L + more, scattered(draw, B, L, L + more), base=float(base))
    yield from of_dtypes(draw)
    yield from masked(draw)
    zeros = draw.normal_with_zeros(2, 5, 24)
    yield case(draw, "a token of zeros", 2, 5, 4, 2, 6, 9, x=zeros)
    yield case(draw, "a token of zeros, causal", 2, 5, 4, 2, 6, 9, mask=draw.causal(5), x=zeros, check="masks")
    yield from laid_out(draw)
    yield from probes(draw)


def of_dtypes(draw):
    """Tiny values, float64, bfloat16."""
    tiny = {"v_proj.weight": draw.normal(12, 24, scale=1e-7)}
    yield case(draw, "tiny values", 2, 3, 4, 2, 6, 7, parameters=tiny)
    positions = scattered(draw, 2, 5, 400)
    yield case(draw, "float64, causal, positions", 2, 5, 6, 3, 10, 400, positions, draw.causal(5), dtype="float64", check="masks")
    yield case(draw, "float64, no mask, no positions", 2, 7, 6, 3, 10, 9, dtype="float64")
    yield case(draw, "bfloat16, no mask, no positions", 3, 5, 4, 2, 6, 9, dtype="bfloat16")
    # Padding on the left, as for generation: positions count the real tokens.
    real = draw.padding(3, 7, side="left")
    positions = (real.cumsum(-1) - 1).clamp(min=0)
    mask = real[:, None, None, :]
    yield case(draw, "bfloat16, padding on the left, positions count real tokens", 3, 7, 4, 2, 6, 11, positions, mask, dtype="bfloat16", check="masks")
    # Cosines bear the 8 bits of bfloat16; angles, frequencies and positions do not, this far along. 500 makes frequencies that it rounds much.
    B, L, H, Hkv, D = 2, 9, 4, 2, 16
    apart = {"o_proj.weight": torch.eye(H * D)}
    yield case(draw, "bfloat16, positions up to 1999", B, L, H, Hkv, D, 2000, scattered(draw, B, L, 2000), base=500.0, parameters=apart, dtype="bfloat16")


def masked(draw):
    """Every shape of mask, and scores of ±200 under it."""
    B, L, H, Hkv, D, T = 3, 5, 6, 2, 4, 17
    # As many batch items as the mask's first axis is long, which is still not the batch.
    alike = {"causal mask [Lq, Lk]": L, "mask of three dims [H, Lq, Lk]": H}
    for name, mask in draw.masks(B, H, L, L).items():
        batch = alike.get(name, B)
        positions = None if "padding mask" in name else scattered(draw, batch, L, T)
        yield case(draw, name, batch, L, H, Hkv, D, T, positions, mask, check="masks")
    # Every token of a sequence at one position, so that queries and keys turn alike and the scores are as designed:
    # q[..., 0] = ±sqrt(D), from x[..., 1] = 1, and k[..., 0] = x[..., 0]. The values do not hold feature 0.
    M = H * D
    q_weight, k_weight, v_weight = (draw.normal(heads, D, M, scale=M**-0.5) for heads in (H, Hkv, Hkv))
    q_weight[:, 0], k_weight[:, 0] = 0, 0
    for weight in (q_weight, k_weight, v_weight):
        weight[..., :3] = 0
    k_weight[:, 0, 0] = 1
    v_weight[:, :, 2] = 1
    same = torch.tensor([[3], [16], [9]]).expand(B, L)

    def scored(name, scores, mask, turned=False, gradients=False, values=0.0):
        """turned: in some heads the scores have the other sign, so that the maxima of a group's heads differ. values: a large part of each token's values.

        Without gradients where allowed scores are large: there the rounding of right answers shows in them, magnified by 200.
        """
        x = draw.normal(B, L, M)
        x[..., 0] = scores
        x[..., 1] = 1
        x[..., 2] = values
        steep = q_weight.clone()
        steep[:, 0, 1] = D**0.5 * torch.tensor([1.0, -1.0, -1.0, 1.0, 1.0, -1.0] if turned else [1.0] * H)
        keys, small = k_weight.clone(), {}
        if gradients:  # a score of 120 is 10 times 12, and o_proj is small: so right answers lose little precision
            steep[:, 0, 1] *= 10
            keys[:, 0, 0] = 12
            small = {"o_proj.weight": draw.normal(M, M, scale=0.01 * M**-0.5)}
        parameters = {"q_proj.weight": steep.flatten(0, 1), "k_proj.weight": keys.flatten(0, 1), "v_proj.weight": v_weight.flatten(0, 1)} | small
        return case(draw, name, B, L, H, Hkv, D, T, same, mask, x=x, parameters=parameters, gradients=gradients, check="masks")

    odd = torch.tensor([True, False, True, False, True])
    yield scored("masked scores of +120 beside ordinary ones", torch.where(odd, 0.0, 1.0), odd.expand(L, L), gradients=True)
    # Any weight that is not exactly 0 shows in front of values this large.
    large = torch.where(odd, 0.0, 1e30)
    yield scored("masked scores of +200 and values of 1e30 beside -200", torch.where(odd, -200.0, 200.0), odd.expand(L, L), values=large)
    turns = torch.stack([odd, ~odd] * L)[:L]
    yield scored("a row of scores near -200, the next near +200", torch.where(odd, -200.0, 200.0), turns)
    yield scored("scores rising to 200, causal", torch.linspace(-200, 200, L), draw.causal(L))
    yield scored("scores falling from 200, no mask", torch.linspace(200, -200, L), None)
    sequences = torch.linspace(200, -200, L) * torch.tensor([[1.0], [-1.0], [1.0]])
    yield scored("scores falling in one head and sequence, rising in the next", sequences, draw.causal(L), turned=True)


def laid_out(draw):
    """Training mode, inputs that are not contiguous, and calls after each other."""
    yield case(draw, "training mode, causal", 2, 5, 6, 3, 8, 9, mask=draw.causal(5), mode="train", check="train/eval")
    yield case(draw, "training mode, no mask, positions", 2, 5, 6, 3, 8, 9, scattered(draw, 2, 5, 9), mode="train", check="train/eval")
    turned, strided, expanded = (dict.fromkeys(("x", "mask", "position_ids"), layout) for layout in ("transposed", "strided", "expanded"))
    positions, mask = scattered(draw, 2, 5, 13), draw.keep(2, 1, 5, 5)
    yield case(draw, "non-contiguous x, mask and positions", 2, 5, 6, 1, 8, 13, positions, mask, layout=turned, check="properties")
    positions, mask = scattered(draw, 3, 7, 13), draw.keep(7, 7)
    yield case(draw, "parts of larger tensors", 3, 7, 4, 4, 6, 13, positions, mask, layout=strided, check="properties")
    x, positions, mask = draw.normal(1, 5, 48).expand(2, 5, 48), scattered(draw, 1, 5, 13).expand(2, 5), draw.causal(5).expand(2, 6, 5, 5)
    yield case(draw, "expanded x, mask and positions", 2, 5, 6, 3, 8, 13, positions, mask, x=x, layout=expanded, check="properties")
    later = (draw.normal(2, 5, 48), draw.keep(5, 5), scattered(draw, 2, 5, 13))
    positions, mask = scattered(draw, 2, 5, 13), draw.keep(5, 5)
    yield case(draw, "the same sizes again with another mask and positions", 2, 5, 6, 3, 8, 13, positions, mask, later=later, check="properties")
    later, positions, mask = (draw.normal(2, 5, 48), None, None), scattered(draw, 2, 5, 13), draw.keep(5, 5)
    yield case(draw, "the same sizes again with neither mask nor positions", 2, 5, 6, 3, 8, 13, positions, mask, later=later, check="properties")
    later = (draw.normal(2, 7, 48), draw.causal(7), scattered(draw, 2, 7, 13))
    yield case(draw, "a longer sequence afterwards, now with mask and positions", 2, 5, 6, 3, 8, 13, later=later, check="properties")


def probes(draw):
    """Pairs small, large of one head dim: a loop over anything else dispatches more operations.

    No other case has their bases, and the least has 17 positions, so that tables which outlive an object, or grow, are made in both of a pair.
    """
    small, large = scattered(draw, 2, 3, 31), scattered(draw, 7, 9, 31)
    yield case(draw, "few and small", 2, 3, 4, 2, 4, 31, small, draw.keep(2, 4, 3, 3), base=123.0, check="masks", probe="vectorised")
    yield case(draw, "many and large", 7, 9, 36, 6, 4, 31, large, draw.keep(7, 36, 9, 9), base=123.0, check="masks", probe="vectorised")
    yield case(draw, "few and small, no positions, no mask", 2, 17, 4, 2, 4, 20, base=321.0, probe="vectorised")
    yield case(draw, "many and large, no positions, no mask", 7, 21, 36, 6, 4, 23, base=321.0, probe="vectorised")
    short, long = scattered(draw, 2, 33, 400), scattered(draw, 2, 300, 400)
    yield case(draw, "short, no mask", 2, 33, 4, 2, 4, 400, short, base=231.0, probe="vectorised")
    yield case(draw, "long, no mask", 2, 300, 4, 2, 4, 400, long, base=231.0, probe="vectorised")


def refusals():
    """Constructor arguments that cannot work."""
    yield from bad_sizes.bad_groups()


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "x", "out"


def values_alone(parameters):
    """The same weights with queries of zero: every key scores alike, and a token shows by its value alone."""
    return parameters | {name: 0 * parameters[name] for name in ("q_proj.weight", "q_proj.bias") if name in parameters}
