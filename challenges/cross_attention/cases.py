"""Cases for cross-attention. Sizes differ within a case, so that no axis passes by luck; the cases where two agree say so.

E is the width of memory: `memory_dim`, or d_model where that is left out of the call.
"""

import torch

from trainer.casekit import refusals as bad_sizes
from trainer.core.words import Case


def drive(attention, given):
    """One call; with `later`, one more on the same object with a mask of its own, or without one; there a memory of None is x itself."""
    optional = {} if given.mask is None else {"memory_mask": given.mask}
    outputs = {"out": attention(given.x, given.memory, **optional)}
    if given.later is not None:
        optional = {} if given.later_mask is None else {"memory_mask": given.later_mask}
        outputs["later"] = attention(given.later, given.later if given.later_memory is None else given.later_memory, **optional)
    return outputs


def case(draw, name, B, Lq, Lk, H, D, E=None, mask=None, dims="B Lq M", **more):
    """One case with x and memory ~ N(0, 1) of these sizes, or with those given; E None leaves memory_dim to its default."""
    M = H * D
    width = {} if E is None else {"memory_dim": E}
    inputs = {
        "x": draw.normal(B, Lq, M),
        "memory": draw.normal(B, Lk, E or M),
        "mask": mask,
        "later": None,
        "later_memory": None,
        "later_mask": None,
    }
    return Case(
        name=name,
        inputs=inputs | more.pop("inputs", {}),
        dims={"out": dims, **more.pop("dims_later", {})},
        sizes={"B": B, "Lq": Lq, "Lk": Lk, "H": H, "D": D, "M": M, "E": E or M} | more.pop("sizes", {}),
        init={"d_model": M, "num_heads": H} | width | more.pop("init", {}),
        **more,
    )


def followed_by(later, memory=None, mask=None):
    """What a case needs for a second call, on `later` [B2, L2, M]."""
    inputs = {"later": later, "later_memory": memory, "later_mask": mask}
    return {"inputs": inputs, "dims_later": {"later": "B2 L2 M"}, "sizes": {"B2": later.shape[0], "L2": later.shape[1]}}


def ragged(draw, B, Lk, side="right"):
    """[B, Lk] padding whose first item has none: it says nothing of the others."""
    real = draw.padding(B, Lk, side)
    real[0] = True
    if bool(real.all()):
        real[1:, 0 if side == "left" else -1] = False
    return real


def cases(draw):
    """What a submission is run on."""
    identity = {"o_proj.weight": torch.eye(12), "o_proj.bias": torch.zeros(12)}
    yield case(draw, "heads apart (o_proj is the identity)", 2, 5, 7, 3, 4, 10, dims="B Lq (H D)", parameters=identity)
    yield case(draw, "memory as wide as x", 3, 7, 4, 2, 5)
    yield case(draw, "memory_dim smaller than d_model and no multiple of the heads", 3, 5, 8, 4, 6, 7)
    yield case(draw, "no biases", 2, 6, 5, 4, 3, 9, init={"bias": False})
    yield case(draw, "no biases, memory as wide as x", 3, 4, 6, 2, 5, init={"bias": False})
    yield case(draw, "memory_dim given, and it is d_model", 2, 5, 7, 3, 4, 12)
    B, Lq, Lk, H, D, E = draw.distinct((2, 3), (6, 9), (7, 11), (2, 5), (6, 9), (4, 60))
    yield case(draw, "random sizes", B, Lq, Lk, H, D, E)
    yield case(draw, "x and memory of one shape", 2, 5, 5, 3, 4)
    zeros = {"x": draw.normal_with_zeros(2, 5, 12), "memory": draw.normal_with_zeros(2, 7, 9, row=2)}
    yield case(draw, "a token of zeros in x and in memory, no biases", 2, 5, 7, 4, 3, 9, inputs=zeros, init={"bias": False})
    yield case(draw, "all sizes alike, head dim 1", 4, 4, 4, 4, 1)
    yield case(draw, "head dim 1", 3, 4, 6, 5, 1, 2)
    tiny = {"v_proj.weight": draw.normal(15, 8, scale=1e-7), "v_proj.bias": torch.zeros(15), "o_proj.bias": torch.zeros(15)}
    yield case(draw, "tiny values", 2, 4, 6, 3, 5, 8, parameters=tiny)
    yield case(draw, "training mode, padding", 2, 5, 8, 4, 3, 7, mask=ragged(draw, 2, 8), mode="train", check="train/eval")
    yield from masked(draw)
    yield from steep(draw)
    yield from laid_out(draw)
    yield case(draw, "few and small", 2, 3, 5, 4, 6, 7, mask=ragged(draw, 2, 5), check="masks", probe="vectorised")
    yield case(draw, "many and large", 7, 9, 11, 10, 6, 13, mask=ragged(draw, 7, 11), check="masks", probe="vectorised")
    yield case(draw, "few and small, no mask", 3, 4, 6, 2, 7, probe="vectorised")
    yield case(draw, "many and large, no mask", 9, 8, 10, 6, 7, probe="vectorised")
    yield case(draw, "short", 2, 4, 5, 3, 2, 7, mask=ragged(draw, 2, 5), check="masks", probe="vectorised")
    yield case(draw, "long", 2, 300, 310, 3, 2, 7, mask=ragged(draw, 2, 310), check="masks", probe="vectorised")


def masked(draw):
    """Padding on either side and within, also where B, H, Lq and Lk agree and a mask that is lined up wrongly raises nothing."""
    yield case(draw, "padding on the right", 3, 5, 7, 2, 4, 9, mask=ragged(draw, 3, 7), check="masks")
    yield case(draw, "padding on the left", 3, 4, 6, 2, 5, 7, mask=ragged(draw, 3, 6, "left"), check="masks")
    yield case(draw, "padding with holes", 4, 5, 9, 3, 2, mask=draw.keep(4, 9), check="masks")
    yield case(draw, "as many batch items as queries", 4, 4, 7, 3, 5, 6, mask=draw.keep(4, 7), check="masks")
    yield case(draw, "as many batch items as heads", 4, 5, 7, 4, 3, 10, mask=draw.keep(4, 7), check="masks")
    yield case(draw, "as many queries as keys", 3, 6, 6, 2, 4, mask=draw.keep(3, 6), check="masks")
    yield case(draw, "as many batch items as queries, keys and heads", 4, 4, 4, 4, 3, mask=draw.keep(4, 4), check="masks")
    yield case(draw, "one batch item, float64", 1, 5, 7, 3, 4, 10, mask=draw.keep(1, 7), dtype="float64", check="masks")
    zeros = {"x": draw.normal_with_zeros(2, 5, 12), "memory": draw.normal_with_zeros(2, 7, 9)}
    real = torch.arange(7) < torch.tensor([[4], [6]])
    yield case(draw, "a token of zeros in x and in memory, no biases, padding", 2, 5, 7, 4, 3, 9, mask=real, inputs=zeros, init={"bias": False}, check="masks")
    yield case(draw, "one query", 3, 1, 6, 4, 2, 5, mask=draw.keep(3, 6), check="masks")
    yield case(draw, "one key", 3, 5, 1, 2, 4, 6, mask=draw.keep(3, 1), check="masks")
    yield case(draw, "one head", 3, 4, 6, 1, 5, 7, mask=draw.keep(3, 6), check="masks")
    yield case(draw, "bfloat16, padding", 3, 5, 7, 2, 4, 11, mask=ragged(draw, 3, 7), dtype="bfloat16", check="masks")
    yield case(draw, "float64, no mask", 2, 5, 7, 3, 4, 10, dtype="float64")
    yield case(draw, "bfloat16, no mask", 3, 7, 4, 2, 5, dtype="bfloat16")
    yield case(draw, "training mode, no mask", 2, 5, 8, 4, 3, 7, mode="train", check="train/eval")


def steep(draw):
    """Scores of ±200: feature 0 of a query is ±1, feature 0 of a memory token is its score."""
    B, Lq, Lk, H, D, E = 3, 4, 6, 2, 5, 7
    M = H * D
    q_weight, k_weight = draw.normal(M, M, scale=M**-0.5), draw.normal(M, E, scale=E**-0.5)
    q_bias, k_bias = torch.zeros(M), torch.zeros(M)
    # q[..., 0] = x[..., 0] and k[..., 0] = sqrt(D) memory[..., 0] in every head, and nothing else of either sees feature 0;
    # feature 1 of memory reaches the values alone.
    q_weight[:, 0], k_weight[:, :2] = 0, 0
    q_weight[::D], k_weight[::D] = 0, 0
    q_weight[::D, 0] = 1
    k_weight[::D, 0] = D**0.5
    v_weight = draw.normal(M, E, scale=E**-0.5)
    v_weight[:, 0] = 0
    same = {"q_proj.weight": q_weight, "q_proj.bias": q_bias, "k_proj.weight": k_weight, "k_proj.bias": k_bias, "v_proj.weight": v_weight}
    # A score of 120 is 10 times 12, and o_proj is small: so right answers lose little precision in their gradients.
    q_of_ones, k_of_ones, small = q_weight.clone(), k_weight.clone(), draw.normal(M, M, scale=0.01 * M**-0.5)
    q_of_ones[::D, 0], k_of_ones[::D, 0] = 10, 12 * D**0.5
    ordinary = same | {"q_proj.weight": q_of_ones, "k_proj.weight": k_of_ones, "o_proj.weight": small}
    # In every other head the scores have the other sign.
    signs = torch.tensor([1.0, -1.0]).repeat_interleave(D)[:, None]
    turned = same | {"q_proj.weight": q_weight * signs}

    def scored(name, scores, mask, parameters=same, queries=1.0, values=0.0, gradients=False):
        """Without gradients where allowed scores are large: there the rounding of a right answer shows in them, times 200."""
        x, memory = draw.normal(B, Lq, M), draw.normal(B, Lk, E)
        x[..., 0] = queries
        memory[..., 0] = scores
        memory[..., 1] = values
        inputs = {"x": x, "memory": memory}
        return case(draw, name, B, Lq, Lk, H, D, E, mask=mask, parameters=parameters, inputs=inputs, gradients=gradients, check="masks")

    real = torch.tensor([[True, False, True, False, True, True], [False, True, True, False, True, False], [True, True, False, True, False, False]])
    apart = torch.where(real, -200.0, 200.0)
    turns = torch.tensor([1.0, -1.0, 1.0, -1.0])
    yield scored("padding with scores of +120 beside ordinary ones", apart.clamp(min=0) / 200, real, parameters=ordinary, gradients=True)
    # Any weight that is not exactly 0 shows in front of values this large.
    yield scored("padding with scores of +200 and values of 1e30 beside -200", apart, real, values=torch.where(real, 0.0, 1e30))
    yield scored("scores near -200 in one sequence, near +200 in the next", apart * torch.tensor([[1.0], [-1.0], [1.0]]), real)
    yield scored("scores near -200 for one query, near +200 for the next", apart, real, queries=turns)
    yield scored("scores near -200 in one head, near +200 in the next", apart, real, parameters=turned)
    yield scored("scores falling from 200, then rising to it, no mask", torch.linspace(200, -200, Lk), None, queries=turns)


def laid_out(draw):
    """Memory of any layout, and calls that follow one another."""
    turned, strided, expanded = (dict.fromkeys(("x", "memory", "mask"), layout) for layout in ("transposed", "strided", "expanded"))
    yield case(draw, "non-contiguous x, memory and mask", 2, 5, 7, 4, 3, 10, mask=draw.keep(2, 7), layout=turned, check="properties")
    yield case(draw, "parts of larger inputs", 3, 7, 4, 2, 5, 8, mask=draw.keep(3, 4), layout=strided, check="properties")
    inputs = {"x": draw.normal(1, 4, 15).expand(2, 4, 15), "memory": draw.normal(1, 6, 8).expand(2, 6, 8)}
    mask = draw.keep(1, 6).expand(2, 6)
    yield case(draw, "expanded inputs", 2, 4, 6, 3, 5, 8, mask=mask, inputs=inputs, layout=expanded, check="properties")
    again = followed_by(draw.normal(2, 4, 15), draw.normal(2, 6, 8), draw.keep(2, 6))
    yield case(draw, "the same sizes again with another memory and mask", 2, 4, 6, 3, 5, 8, mask=draw.keep(2, 6), **again, check="properties")
    open_ = followed_by(draw.normal(2, 4, 15), draw.normal(2, 6, 8))
    yield case(draw, "the same sizes again, now without a mask", 2, 4, 6, 3, 5, 8, mask=draw.keep(2, 6), **open_, check="properties")
    alone = followed_by(draw.normal(5, 7, 15))
    yield case(draw, "a masked call, then x as its own memory, no mask", 2, 4, 6, 3, 5, mask=draw.keep(2, 6), **alone, check="properties")


def refusals():
    """Constructor arguments that cannot work."""
    yield from bad_sizes.bad_heads()
    yield from bad_sizes.bad_heads(memory_dim=24)  # most of these numbers of heads divide memory_dim


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "memory", "out"


def values_alone(parameters):
    """The same weights with queries of zero: every key scores alike, and a token shows by its value alone."""
    return parameters | {name: 0 * parameters[name] for name in ("q_proj.weight", "q_proj.bias") if name in parameters}
