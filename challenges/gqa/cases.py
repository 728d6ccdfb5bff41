"""Cases for grouped-query attention. Sizes differ within a case, so that no axis passes by luck."""

import torch

from trainer.core import bad_sizes
from trainer.core.words import Case


def drive(attention, given):
    """One call; with `later`, one more on the same object, with a mask of its own."""
    outputs = {"out": attention(given.x) if given.mask is None else attention(given.x, mask=given.mask)}
    if given.later is not None:
        outputs["later"] = attention(given.later, mask=given.later_mask)
    return outputs


def case(draw, name, B, L, H, Hkv, D, mask=None, dims="B L M", x=None, init=None, later=None, later_mask=None, **more):
    """One case with x ~ N(0, 1) of these sizes."""
    M = H * D
    x = draw.normal(B, L, M) if x is None else x
    return Case(
        name=name,
        inputs={"x": x, "mask": mask, "later": later, "later_mask": later_mask},
        dims={"out": dims} if later is None else {"out": dims, "later": dims},
        sizes={"B": B, "L": L, "H": H, "Hkv": Hkv, "D": D, "M": M} | more.pop("sizes", {}),
        init={"d_model": M, "num_heads": H, "num_kv_heads": Hkv} | (init or {}),
        **more,
    )


def cases(draw):
    """What a submission is run on."""
    identity = {"o_proj.weight": torch.eye(42), "o_proj.bias": torch.zeros(42)}
    yield case(draw, "heads apart (o_proj is the identity)", 2, 5, 6, 3, 7, dims="B L (H D)", parameters=identity)
    yield case(draw, "no mask", 3, 7, 4, 2, 5)
    yield case(draw, "one key/value head", 3, 5, 4, 1, 6)
    yield case(draw, "as many key/value heads as query heads", 2, 7, 3, 3, 5)
    yield case(draw, "no biases", 2, 5, 6, 2, 3, init={"bias": False})
    yield case(draw, "one token, one head", 1, 1, 1, 1, 4)
    yield case(draw, "one head", 3, 5, 1, 1, 4, mask=draw.keep(3, 1, 5, 5))
    B, L, groups, Hkv, D = draw.distinct((2, 3), (6, 9), (2, 5), (2, 4), (5, 9))
    yield case(draw, "random sizes", B, L, groups * Hkv, Hkv, D)
    tiny = {"v_proj.weight": draw.normal(10, 20, scale=1e-7), "v_proj.bias": torch.zeros(10), "o_proj.bias": torch.zeros(20)}
    yield case(draw, "tiny values", 2, 3, 4, 2, 5, parameters=tiny)
    yield case(draw, "one batch item, float64, causal", 1, 5, 6, 3, 4, mask=draw.causal(5), dtype="float64", check="masks")
    yield case(draw, "bfloat16, padding", 3, 7, 4, 2, 6, mask=draw.padding(3, 7)[:, None, None, :], dtype="bfloat16", check="masks")
    yield case(draw, "float64, no mask", 2, 7, 4, 2, 5, dtype="float64")
    yield case(draw, "bfloat16, no mask", 3, 5, 6, 3, 4, dtype="bfloat16")
    yield from masked(draw)
    zeros = {"x": draw.normal_with_zeros(2, 5, 12), "init": {"bias": False}}
    yield case(draw, "a token of zeros, no biases", 2, 5, 4, 2, 3, **zeros)
    yield case(draw, "a token of zeros, no biases, causal", 2, 5, 4, 2, 3, mask=draw.causal(5), **zeros, check="masks")
    yield from dropped(draw)
    # Both ends of Hkv once more, now with a mask.
    turned, strided = ({"x": layout, "mask": layout} for layout in ("transposed", "strided"))
    yield case(draw, "non-contiguous x and mask", 2, 5, 6, 1, 3, mask=draw.keep(2, 1, 5, 5), layout=turned, check="properties")
    yield case(draw, "part of a larger x and mask", 3, 7, 4, 4, 5, mask=draw.keep(7, 7), layout=strided, check="properties")
    again = {"later": draw.normal(2, 5, 18), "later_mask": draw.keep(5, 5)}
    yield case(draw, "the same sizes again with another mask", 2, 5, 6, 3, 3, mask=draw.keep(5, 5), **again, check="properties")
    again = {"later": draw.normal(2, 5, 18)}
    yield case(draw, "the same sizes again, now without a mask", 2, 5, 6, 3, 3, mask=draw.keep(5, 5), **again, check="properties")
    same = draw.normal(1, 5, 18).expand(3, 5, 18)
    mask = draw.causal(5).expand(3, 6, 5, 5)
    yield case(draw, "expanded x and mask", 3, 5, 6, 2, 3, x=same, mask=mask, layout={"x": "expanded", "mask": "expanded"}, check="properties")
    yield case(draw, "few and small", 2, 3, 4, 2, 2, mask=draw.keep(2, 4, 3, 3), check="masks", probe="vectorised")
    yield case(draw, "many and large", 7, 9, 36, 6, 2, mask=draw.keep(7, 36, 9, 9), check="masks", probe="vectorised")
    yield case(draw, "short, no mask", 2, 5, 4, 2, 2, probe="vectorised")
    yield case(draw, "long, no mask", 2, 300, 4, 2, 2, probe="vectorised")


def masked(draw):
    """Every shape of mask, and scores of ±200 under it."""
    B, L, H, Hkv, D = 3, 5, 6, 2, 4
    # As many batch items as the mask's first axis is long, which is still not the batch.
    alike = {"causal mask [Lq, Lk]": L, "mask of three dims [H, Lq, Lk]": H}
    for name, mask in draw.masks(B, H, L, L).items():
        yield case(draw, name, alike.get(name, B), L, H, Hkv, D, mask=mask, check="masks")
    # Feature 0 of a token is the score of its key, for every query alike: q[..., 0] = 1 and k[..., 0] = sqrt(D) x[..., 0].
    M = H * D
    q_weight, k_weight = draw.normal(M, M, scale=M**-0.5), draw.normal(Hkv * D, M, scale=M**-0.5)
    q_bias, k_bias = torch.zeros(M), torch.zeros(Hkv * D)
    q_weight[::D], k_weight[::D] = 0, 0
    q_weight[:, :2], k_weight[:, :2] = 0, 0
    k_weight[::D, 0] = D**0.5
    q_bias[::D] = 1
    v_weight = draw.normal(Hkv * D, M, scale=M**-0.5)
    v_weight[:, 0] = 0
    steep = {"q_proj.weight": q_weight, "q_proj.bias": q_bias, "k_proj.weight": k_weight, "k_proj.bias": k_bias, "v_proj.weight": v_weight}
    # A score of 120 is 10 times 12, and o_proj is small: so right answers lose little precision in their gradients.
    k_of_ones, small = k_weight.clone(), draw.normal(M, M, scale=0.01 * M**-0.5)
    k_of_ones[::D, 0] = 12 * D**0.5
    ordinary = steep | {"k_proj.weight": k_of_ones, "q_proj.bias": 10 * q_bias, "o_proj.weight": small}
    # In some heads the scores have the other sign, so that the maxima of a group's heads differ.
    turned = steep | {"q_proj.bias": q_bias.view(H, D).mul(torch.tensor([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])[:, None]).flatten()}

    def scored(name, scores, mask, parameters=steep, gradients=False, values=0.0):
        """`values` is a large part of each token's values.

        Without gradients where allowed scores are large: there the rounding of right answers shows in them, magnified by 200.
        """
        x = draw.normal(B, L, M)
        x[..., 0] = scores
        x[..., 1] = values
        return case(draw, name, B, L, H, Hkv, D, x=x, mask=mask, parameters=parameters, gradients=gradients, check="masks")

    odd = torch.tensor([True, False, True, False, True])
    yield scored("masked scores of +120 beside ordinary ones", torch.where(odd, 0.0, 1.0), odd.expand(L, L), parameters=ordinary, gradients=True)
    # Any weight that is not exactly 0 shows in front of values this large.
    large = torch.where(odd, 0.0, 1e30)
    yield scored("masked scores of +200 and values of 1e30 beside -200", torch.where(odd, -200.0, 200.0), odd.expand(L, L), values=large)
    turns = torch.stack([odd, ~odd] * L)[:L]
    yield scored("a row of scores near -200, the next near +200", torch.where(odd, -200.0, 200.0), turns)
    yield scored("scores rising to 200, causal", torch.linspace(-200, 200, L), draw.causal(L))
    yield scored("scores falling from 200, causal", torch.linspace(200, -200, L), draw.causal(L))
    yield scored("scores falling from 200, no mask", torch.linspace(200, -200, L), None)
    sequences = torch.linspace(200, -200, L) * torch.tensor([[1.0], [-1.0], [1.0]])
    yield scored("scores falling in one head and sequence, rising in the next", sequences, draw.causal(L), parameters=turned)


def dropped(draw):
    """Dropout: none in eval mode, on the weights in training mode."""
    yield case(draw, "eval mode, dropout 0.4", 2, 5, 6, 3, 4, init={"dropout": 0.4}, check="train/eval")
    yield case(draw, "training mode, dropout 0, causal", 2, 5, 6, 3, 4, mask=draw.causal(5), mode="train", check="train/eval")
    yield case(draw, "training mode, dropout 0, no mask", 2, 5, 6, 3, 4, mode="train", check="train/eval")
    # So little that nothing is dropped: results and gradients are those of eval mode.
    yield case(draw, "training mode, dropout 1e-9, no mask", 2, 5, 6, 3, 4, init={"dropout": 1e-9}, mode="train", check="train/eval")
    yield case(draw, "training mode, dropout 1e-9, causal", 2, 5, 6, 3, 4, mask=draw.causal(5), init={"dropout": 1e-9}, mode="train", check="train/eval")
    # Without values and o_proj dropout shows in no result and no gradient; the backward pass has to run all the same.
    nothing = {"v_proj.weight": torch.zeros(12, 24), "v_proj.bias": torch.zeros(12), "o_proj.weight": torch.zeros(24, 24)}
    for words, dtype in (("", "float32"), ("bfloat16, ", "bfloat16")):
        more = {"init": {"dropout": 0.4}, "parameters": nothing, "mode": "train", "dtype": dtype, "check": "train/eval"}
        yield case(draw, f"{words}training mode, dropout 0.4, values and o_proj zero", 2, 5, 6, 3, 4, **more)
    # Token j is the unit vector e_j and every value head writes it to features j and L + j: the output *is* the weights, twice.
    B, L, H, Hkv = 2, 7, 4, 2
    D = 2 * L
    M = H * D
    value = torch.eye(L, M).repeat(2 * Hkv, 1)
    # One key is hidden, from all alike: dropout alone tells rows and heads apart.
    for words, mask in (("one key masked, ", torch.arange(L)[None, :] != 2), ("", None)):
        yield case(
            draw,
            f"training mode, dropout 0.3, {words}weights read out",
            *(B, L, H, Hkv, D),
            mask=mask,
            x=torch.eye(L, M).expand(B, L, M),
            dims="B L (H copy K)",
            sizes={"copy": 2, "K": L},
            init={"dropout": 0.3},
            parameters={"v_proj.weight": value, "v_proj.bias": torch.zeros(Hkv * D), "o_proj.weight": torch.eye(M), "o_proj.bias": torch.zeros(M)},
            mode="train",
            dropout=0.3,
            check="train/eval",
        )


def refusals():
    """Constructor arguments that cannot work."""
    yield from bad_sizes.groups()


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "x", "out"


def values_alone(parameters):
    """The same weights with queries of zero: every key scores alike, and a token shows by its value alone."""
    return parameters | {name: 0 * parameters[name] for name in ("q_proj.weight", "q_proj.bias") if name in parameters}
