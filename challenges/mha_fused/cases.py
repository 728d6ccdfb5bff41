"""Cases for fused multi-head attention. Sizes differ within a case, so that no axis passes by luck; mostly none is 3, the number of parts."""

import torch

from trainer.casekit import refusals as bad_sizes
from trainer.core.words import Case


def drive(attention, given):
    """One call; with `later`, one more on the same object, without a mask or with one of its own."""
    outputs = {"out": attention(given.x) if given.mask is None else attention(given.x, mask=given.mask)}
    if given.later is not None:
        outputs["later"] = attention(given.later) if given.later_mask is None else attention(given.later, mask=given.later_mask)
    return outputs


def case(draw, name, B, L, H, D, mask=None, dims="B L M", x=None, later=None, later_mask=None, **more):
    """One case with x ~ N(0, 1) of these sizes, or with the x given."""
    M = H * D
    outputs, sizes = {"out": dims}, {"B": B, "L": L, "H": H, "D": D, "M": M}
    if later is not None:
        outputs["later"] = "B2 L2 M"
        sizes |= {"B2": later.shape[0], "L2": later.shape[1]}
    return Case(
        name=name,
        inputs={"x": draw.normal(B, L, M) if x is None else x, "mask": mask, "later": later, "later_mask": later_mask},
        dims=outputs,
        sizes=sizes | more.pop("sizes", {}),
        init={"d_model": M, "num_heads": H} | more.pop("init", {}),
        **more,
    )


def identity(M):
    """Parameters with which o_proj changes nothing: the output is the heads, side by side."""
    return {"o_proj.weight": torch.eye(M), "o_proj.bias": torch.zeros(M)}


def stacked(q, k, v, q_bias=None, k_bias=None, v_bias=None):
    """The parameters of qkv_proj from three weights [M, M] and three biases [M], zeros where None."""
    biases = [torch.zeros(len(q)) if bias is None else bias for bias in (q_bias, k_bias, v_bias)]
    return {"qkv_proj.weight": torch.cat([q, k, v]), "qkv_proj.bias": torch.cat(biases)}


def cases(draw):
    """What a submission is run on."""
    yield case(draw, "heads apart (o_proj is the identity)", 2, 5, 4, 6, dims="B L (H D)", parameters=identity(24))
    yield case(draw, "one token, whose output is its own value (o_proj is the identity)", 4, 1, 2, 5, dims="B L (H D)", parameters=identity(10))
    yield case(draw, "no mask", 4, 7, 2, 5)
    yield case(draw, "no biases", 2, 6, 5, 4, init={"bias": False})
    yield case(draw, "three of everything", 3, 3, 3, 3, mask=draw.keep(3, 3), check="masks")
    yield case(draw, "one head", 4, 5, 1, 6, mask=draw.keep(4, 1, 5, 5), check="masks")
    yield case(draw, "head dim 1", 2, 6, 5, 1, mask=draw.keep(2, 5, 6, 6), check="masks")
    yield case(draw, "one sequence of one token, one head", 1, 1, 1, 4)
    B, L, H, D = draw.distinct((2, 4), (6, 9), (2, 5), (4, 8))
    yield case(draw, "random sizes", B, L, H, D)
    tiny = stacked(draw.normal(20, 20, scale=0.2), draw.normal(20, 20, scale=0.2), draw.normal(20, 20, scale=1e-7))
    yield case(draw, "tiny values", 2, 6, 4, 5, parameters=tiny | {"o_proj.bias": torch.zeros(20)})
    yield case(draw, "one batch item, float64, causal", 1, 5, 6, 4, mask=draw.causal(5), dtype="float64", check="masks")
    padding = draw.padding(4, 7)
    padding[0] = True  # the first item says nothing of the others
    yield case(draw, "bfloat16, padding", 4, 7, 2, 6, mask=padding[:, None, None, :], dtype="bfloat16", check="masks")
    yield case(draw, "float64, no mask", 2, 7, 4, 5, dtype="float64")
    yield case(draw, "bfloat16, no mask", 4, 6, 5, 3, dtype="bfloat16")
    yield from masked(draw)
    zeros = {"x": draw.normal_with_zeros(2, 5, 12), "init": {"bias": False}}
    yield case(draw, "a token of zeros, no biases", 2, 5, 4, 3, **zeros)
    yield case(draw, "a token of zeros, no biases, causal", 2, 5, 4, 3, mask=draw.causal(5), **zeros, check="masks")
    yield from dropped(draw)
    turned, strided = ({"x": layout, "mask": layout} for layout in ("transposed", "strided"))
    yield case(draw, "non-contiguous x and mask", 2, 5, 4, 3, mask=draw.keep(2, 1, 5, 5), layout=turned, check="properties")
    yield case(draw, "part of a larger x and mask", 4, 7, 2, 5, mask=draw.keep(7, 7), layout=strided, check="properties")
    same, heads = draw.normal(1, 5, 12).expand(3, 5, 12), draw.keep(1, 4, 5, 5).expand(3, 4, 5, 5)
    yield case(draw, "expanded x and mask", 3, 5, 4, 3, x=same, mask=heads, layout={"x": "expanded", "mask": "expanded"}, check="properties")
    again = {"later": draw.normal(2, 6, 20), "later_mask": draw.keep(6, 6)}
    yield case(draw, "the same sizes again with another mask", 2, 6, 4, 5, mask=draw.keep(6, 6), **again, check="properties")
    again = {"later": draw.normal(2, 6, 20)}
    yield case(draw, "the same sizes again, now without a mask", 2, 6, 4, 5, mask=draw.keep(6, 6), **again, check="properties")
    # Twice each: with a mask, and without.
    small, large = draw.normal(3, 5, 42), draw.normal(9, 12, 91)
    yield case(draw, "few and small", 2, 4, 6, 7, mask=draw.keep(2, 6, 4, 4), later=small, check="masks", probe="vectorised")
    yield case(draw, "many and large", 8, 11, 13, 7, mask=draw.keep(8, 13, 11, 11), later=large, check="masks", probe="vectorised")
    yield case(draw, "short, no mask", 2, 5, 4, 3, probe="vectorised")
    yield case(draw, "long, no mask", 2, 300, 4, 3, probe="vectorised")


def masked(draw):
    """Every shape of mask, and scores of ±200 under it."""
    B, L, H, D = 2, 5, 4, 6
    # As many batch items as the mask's first axis is long, which is still not the batch.
    alike = {"causal mask [Lq, Lk]": L, "mask of three dims [H, Lq, Lk]": H}
    for name, mask in draw.masks(B, H, L, L).items():
        yield case(draw, name, alike.get(name, B), L, H, D, mask=mask, check="masks")
    # Feature 0 of a token is the score of its key, for every query alike: q[..., 0] = 1 and k[..., 0] = sqrt(D) x[..., 0].
    B, M = 3, H * D
    q, k, v = (draw.normal(M, M, scale=M**-0.5) for _ in range(3))
    q[::D], k[::D] = 0, 0
    q[:, :2], k[:, :2] = 0, 0
    k[::D, 0] = D**0.5
    v[:, 0] = 0
    one = torch.zeros(M)
    one[::D] = 1
    steep = stacked(q, k, v, q_bias=one)
    # A score of 120 is 10 times 12, and o_proj is small: so right answers lose little precision in their gradients.
    k_of_ones = k.clone()
    k_of_ones[::D, 0] = 12 * D**0.5
    ordinary = stacked(q, k_of_ones, v, q_bias=10 * one) | {"o_proj.weight": draw.normal(M, M, scale=0.01 * M**-0.5)}
    # In every other head the scores have the other sign, so that the maxima of heads differ.
    turned = stacked(q, k, v, q_bias=one * torch.tensor([1.0, -1.0]).repeat(H // 2).repeat_interleave(D))

    def scored(name, scores, mask, parameters=steep, gradients=False, values=0.0):
        """`values` is a large part of each token's values.

        Without gradients where allowed scores are large: there the rounding of right answers shows in them, magnified by 200.
        """
        x = draw.normal(B, L, M)
        x[..., 0] = scores
        x[..., 1] = values
        return case(draw, name, B, L, H, D, x=x, mask=mask, parameters=parameters, gradients=gradients, check="masks")

    odd = torch.tensor([True, False, True, False, True])
    yield scored("masked scores of +120 beside ordinary ones", torch.where(odd, 0.0, 1.0), odd.expand(L, L), parameters=ordinary, gradients=True)
    # Any weight that is not exactly 0 shows in front of values this large.
    large = torch.where(odd, 0.0, 1e30)
    yield scored("masked scores of +200 and values of 1e30 beside -200", torch.where(odd, -200.0, 200.0), odd.expand(L, L), values=large)
    turns = torch.stack([odd, ~odd] * L)[:L]
    yield scored("a row of scores near -200, the next near +200", torch.where(odd, -200.0, 200.0), turns)
    yield scored("scores rising to 200, causal", torch.linspace(-200, 200, L), draw.causal(L))
    yield scored("scores falling from 200, no mask", torch.linspace(200, -200, L), None)
    sequences = torch.linspace(200, -200, L) * torch.tensor([[1.0], [-1.0], [1.0]])
    yield scored("scores falling in one head and sequence, rising in the next", sequences, draw.causal(L), parameters=turned)


def dropped(draw):
    """Dropout: none in eval mode, on the weights in training mode."""
    yield case(draw, "eval mode, dropout 0.4", 2, 5, 4, 6, init={"dropout": 0.4}, check="train/eval")
    yield case(draw, "training mode, dropout 0, causal", 2, 5, 4, 6, mask=draw.causal(5), mode="train", check="train/eval")
    yield case(draw, "training mode, dropout 0, no mask", 2, 5, 4, 6, mode="train", check="train/eval")
    # So little that nothing is dropped: results and gradients are those of eval mode.
    yield case(draw, "training mode, dropout 1e-9, no mask", 2, 5, 4, 6, init={"dropout": 1e-9}, mode="train", check="train/eval")
    yield case(draw, "training mode, dropout 1e-9, causal", 2, 5, 4, 6, mask=draw.causal(5), init={"dropout": 1e-9}, mode="train", check="train/eval")
    # Without values and o_proj dropout shows in no result and no gradient; the backward pass has to run all the same.
    nothing = stacked(draw.normal(24, 24), draw.normal(24, 24), torch.zeros(24, 24)) | {"o_proj.weight": torch.zeros(24, 24)}
    for words, dtype in (("", "float32"), ("bfloat16, ", "bfloat16")):
        more = {"init": {"dropout": 0.4}, "parameters": nothing, "mode": "train", "dtype": dtype, "check": "train/eval"}
        yield case(draw, f"{words}training mode, dropout 0.4, values and o_proj zero", 2, 5, 4, 6, **more)
    # Token j is the unit vector e_j and every head's value writes it to features j and L + j: the output *is* the weights, twice.
    B, L, H = 2, 7, 4
    D = 2 * L
    M = H * D
    q, k = draw.normal(M, M), draw.normal(M, M)
    # One key is hidden, from all alike: dropout alone tells rows and heads apart.
    for words, mask in (("one key masked, ", torch.arange(L)[None, :] != 2), ("", None)):
        yield case(
            draw,
            f"training mode, dropout 0.3, {words}weights read out",
            *(B, L, H, D),
            mask=mask,
            x=torch.eye(L, M).expand(B, L, M),
            dims="B L (H copy K)",
            sizes={"copy": 2, "K": L},
            init={"dropout": 0.3},
            parameters=stacked(q * 0.3, k * 0.3, torch.eye(L, M).repeat(2 * H, 1)) | identity(M),
            mode="train",
            dropout=0.3,
            check="train/eval",
        )


def refusals():
    """Constructor arguments that cannot work."""
    yield from bad_sizes.bad_heads()


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "x", "out"


def values_alone(parameters):
    """The same weights with queries of zero: every key scores alike, and a token shows by its value alone."""
    mine = {name: parameters[name].clone() for name in ("qkv_proj.weight", "qkv_proj.bias") if name in parameters}
    for value in mine.values():
        value[: len(value) // 3] = 0
    return parameters | mine
