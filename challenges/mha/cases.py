"""Cases for multi-head attention. Sizes differ within a case, so that no axis passes by luck."""

import torch

from trainer.core import bad_sizes
from trainer.core.words import Case
from trainer.running.returns import unpack


def drive(attention, given):
    """One call; with `later`, one more on the same object: self-attention, without a mask or with one of its own.

    A name in place of key or value is that very tensor once more.
    """
    key = given.query if isinstance(given.key, str) else given.key
    value = {"query": given.query, "key": key}[given.value] if isinstance(given.value, str) else given.value
    optional = {} if given.mask is None else {"mask": given.mask}
    if given.return_weights:
        out, weights = unpack(attention(given.query, key, value, **optional, return_weights=True), "out", "weights")
        outputs = {"weights": weights, "out": out} if given.compare_weights else {"out": out}
    else:
        outputs = {"out": attention(given.query, key, value, **optional)}
    if given.later is not None:
        optional = {} if given.later_mask is None else {"mask": given.later_mask}
        outputs["later"] = attention(given.later, given.later, given.later, **optional)
    return outputs


def case(draw, name, B, Lq, Lk, H, D, mask=None, return_weights=False, compare_weights=True, dims="B Lq M", **more):
    """One case with query, key and value ~ N(0, 1) of these sizes, or with those given."""
    M = H * D
    inputs = {
        "query": draw.normal(B, Lq, M),
        "key": draw.normal(B, Lk, M),
        "value": draw.normal(B, Lk, M),
        "mask": mask,
        "return_weights": return_weights,
        "compare_weights": compare_weights,
        "later": None,
        "later_mask": None,
    }
    weights = {"weights": "B H Lq Lk"} if return_weights and compare_weights else {}
    return Case(
        name=name,
        inputs=inputs | more.pop("inputs", {}),
        dims={**weights, "out": dims, **more.pop("dims_later", {})},
        sizes={"B": B, "Lq": Lq, "Lk": Lk, "H": H, "D": D, "M": M} | more.pop("sizes", {}),
        init={"d_model": M, "num_heads": H} | more.pop("init", {}),
        **more,
    )


def identity(M):
    """Parameters with which o_proj changes nothing: the output is the heads, side by side."""
    return {"o_proj.weight": torch.eye(M), "o_proj.bias": torch.zeros(M)}


def followed_by(later, mask=None):
    """What a case needs for a second call, on `later` [B2, L2, M]."""
    return {"inputs": {"later": later, "later_mask": mask}, "dims_later": {"later": "B2 L2 M"}, "sizes": {"B2": later.shape[0], "L2": later.shape[1]}}


def with_zeros(draw):
    """Query, key and value [2, 5 or 7, 12] with a row of zeros each: without biases a score is 0, and hidden by no mask."""
    return {"query": draw.normal_with_zeros(2, 5, 12), "key": draw.normal_with_zeros(2, 7, 12, row=2), "value": draw.normal_with_zeros(2, 7, 12, row=3)}


def cases(draw):
    """What a submission is run on."""
    yield case(draw, "weights and heads (o_proj is the identity)", 2, 5, 7, 3, 4, return_weights=True, dims="B Lq (H D)", parameters=identity(12))
    yield case(draw, "no mask", 3, 7, 4, 2, 5)
    yield case(draw, "no biases", 2, 6, 5, 4, 3, init={"bias": False})
    B, Lq, Lk, H, D = draw.distinct((2, 3), (6, 9), (7, 11), (2, 5), (6, 9))
    yield case(draw, "random sizes", B, Lq, Lk, H, D)
    yield case(draw, "one tensor for key and value, head dim 1", 3, 4, 6, 5, 1, inputs={"value": "key"})
    yield case(draw, "one tensor for key and value, as many queries as keys", 3, 5, 5, 2, 4, inputs={"value": "key"})
    yield case(draw, "one tensor for query and key", 2, 5, 5, 4, 3, inputs={"key": "query"})
    yield case(draw, "one tensor for query and value", 3, 6, 6, 2, 4, inputs={"value": "query"})
    yield case(draw, "one tensor for query, key and value", 2, 6, 6, 3, 5, inputs={"key": "query", "value": "key"})
    yield case(draw, "all sizes alike, head dim 1", 4, 4, 4, 4, 1)
    yield case(draw, "a query, a key and a value of zeros, no biases", 2, 5, 7, 4, 3, inputs=with_zeros(draw), init={"bias": False})
    yield case(draw, "one query", 3, 1, 6, 4, 2, mask=draw.keep(3, 1, 1, 6), return_weights=True)
    yield case(draw, "one head", 3, 4, 6, 1, 5, mask=draw.keep(3, 1, 4, 6), return_weights=True)
    yield case(draw, "one key, one head, one batch item", 1, 4, 1, 1, 5, return_weights=True)
    tiny = {"v_proj.weight": draw.normal(15, 15, scale=1e-7), "v_proj.bias": torch.zeros(15), "o_proj.bias": torch.zeros(15)}
    yield case(draw, "tiny values", 2, 4, 6, 3, 5, parameters=tiny)
    yield case(draw, "one batch item, float64, causal", 1, 4, 6, 3, 5, mask=draw.causal(4, 6), return_weights=True, dtype="float64", check="masks")
    padding = draw.padding(3, 7)
    padding[0] = True  # the first item says nothing of the others
    yield case(draw, "bfloat16, padding", 3, 5, 7, 2, 4, mask=padding[:, None, None, :], return_weights=True, dtype="bfloat16", check="masks")
    yield case(draw, "float64, no mask", 2, 5, 7, 3, 4, dtype="float64")
    yield case(draw, "bfloat16, no mask", 3, 7, 4, 2, 5, dtype="bfloat16")
    yield from masked(draw)
    yield from dropped(draw)
    turned = {"query": "transposed", "key": "transposed", "value": "transposed", "mask": "transposed"}
    yield case(draw, "non-contiguous inputs", 2, 5, 7, 4, 3, mask=draw.keep(2, 1, 5, 7), layout=turned, check="properties")
    strided = dict.fromkeys(turned, "strided")
    yield case(draw, "parts of larger inputs", 3, 7, 4, 2, 5, mask=draw.keep(7, 4), layout=strided, check="properties")
    same = {name: draw.normal(1, length, 15).expand(2, length, 15) for name, length in (("query", 4), ("key", 6), ("value", 6))}
    expanded = dict.fromkeys(turned, "expanded")
    yield case(draw, "expanded inputs", 2, 4, 6, 3, 5, mask=draw.keep(1, 3, 4, 6).expand(2, 3, 4, 6), inputs=same, layout=expanded, check="properties")
    yield case(
        draw,
        "a masked call, then self-attention of other sizes without a mask",
        *(2, 4, 6, 3, 5),
        mask=draw.keep(3, 4, 6),
        return_weights=True,
        **followed_by(draw.normal(5, 7, 15)),
        check="properties",
    )
    # Query, key and value are of one shape and yet three; a [Lq, Lk] mask could be taken for [B, Lk]; the later mask is another of the same shape.
    again = followed_by(draw.normal(4, 4, 15), draw.keep(4, 4))
    yield case(draw, "B = Lq = Lk, then the same sizes with another mask", 4, 4, 4, 3, 5, mask=draw.keep(4, 4), **again, check="properties")
    again = followed_by(draw.normal(4, 4, 15))
    yield case(draw, "B = Lq = Lk, then the same sizes without a mask", 4, 4, 4, 3, 5, mask=draw.keep(4, 4), **again, check="properties")
    # Twice each: with weights and a mask, and without.
    small, large = draw.normal(3, 4, 30), draw.normal(8, 10, 60)
    yield case(draw, "few and small", 2, 3, 6, 5, 6, mask=draw.keep(2, 5, 3, 6), return_weights=True, **followed_by(small), check="masks", probe="vectorised")
    yield case(
        draw, "many and large", 7, 9, 11, 10, 6, mask=draw.keep(7, 10, 9, 11), return_weights=True, **followed_by(large), check="masks", probe="vectorised"
    )
    yield case(draw, "short, no mask", 2, 4, 5, 3, 2, probe="vectorised")
    yield case(draw, "long, no mask", 2, 300, 310, 3, 2, probe="vectorised")


def masked(draw):
    """Every shape of mask, and scores of 0 and ±200 under it."""
    B, Lq, Lk, H, D = 3, 4, 6, 2, 5
    # As many batch items as the mask's first axis is long, which is still not the batch.
    alike = {"causal mask [Lq, Lk]": Lq, "mask of three dims [H, Lq, Lk]": H}
    for number, (name, mask) in enumerate(draw.masks(B, H, Lq, Lk).items()):
        yield case(draw, name, alike.get(name, B), Lq, Lk, H, D, mask=mask, return_weights=number % 2 == 1, check="masks")
    words = "a query, a key and a value of zeros, no biases, causal"
    yield case(draw, words, 2, 5, 7, 4, 3, mask=draw.causal(5, 7), inputs=with_zeros(draw), init={"bias": False}, check="masks")
    one = {"key": "query", "value": "key"}
    yield case(draw, "one tensor for query, key and value, causal", 2, 6, 6, 3, 5, mask=draw.causal(6), inputs=one, check="masks")
    # Feature 0 of a key is sqrt(D) times its score, the same for every query and head: k[..., 0] = key[..., 0] and q[..., 0] = 1.
    M = H * D
    q_weight, k_weight = draw.normal(M, M, scale=M**-0.5), draw.normal(M, M, scale=M**-0.5)
    q_bias, k_bias = torch.zeros(M), torch.zeros(M)
    q_weight[::D], k_weight[::D] = 0, 0
    k_weight[::D, 0] = 1
    q_bias[::D] = 1
    steep = {"q_proj.weight": q_weight, "q_proj.bias": q_bias, "k_proj.weight": k_weight, "k_proj.bias": k_bias}

    # A score of 120 is 10 times 12, and o_proj is small: so right answers lose little precision in their gradients.
    k_of_ones, small = k_weight.clone(), draw.normal(M, M, scale=0.01 * M**-0.5)
    k_of_ones[::D, 0] = 12
    ordinary = steep | {"k_proj.weight": k_of_ones, "q_proj.bias": 10 * q_bias, "o_proj.weight": small}
    # In every other head the scores have the other sign, so that the maxima of heads differ.
    turned = steep | {"q_proj.bias": q_bias * torch.tensor([1.0, -1.0]).repeat_interleave(D)}

    def scored(name, scores, mask, parameters=steep, gradients=False, **given):
        """Without gradients where allowed scores are large: times 200 sqrt(D), the rounding of a right answer would show in them."""
        key = draw.normal(B, Lk, M)
        key[..., 0] = scores * D**0.5
        inputs = {"key": key, **given}
        # Where gradients are compared, no cotangent reaches the keys past the small o_proj.
        return case(
            draw, name, B, Lq, Lk, H, D, mask=mask, return_weights=not gradients, parameters=parameters, inputs=inputs, gradients=gradients, check="masks"
        )

    every_other = torch.tensor([True, False, True, False, True, False])
    apart = torch.where(every_other, -200.0, 200.0)
    mask = every_other.expand(B, 1, Lq, Lk)
    yield scored("masked scores of +120 beside ordinary ones", apart.clamp(min=0) / 200, mask, parameters=ordinary, gradients=True)
    # Any weight that is not exactly 0 shows in front of values this large.
    value = draw.normal(B, Lk, M)
    value[:, 1::2] = 1e30
    yield scored("masked scores of +200 and values of 1e30 beside -200", apart, every_other.expand(Lq, Lk), value=value)
    yield scored("a row of scores near +200, the next near -200", apart, torch.stack([~every_other, every_other]).repeat(Lq // 2, 1))
    yield scored("scores rising to 200, causal", torch.linspace(-200, 200, Lk), draw.causal(Lq, Lk))
    yield scored("scores falling from 200, no mask", torch.linspace(200, -200, Lk), None)
    sequences = torch.linspace(200, -200, Lk) * torch.tensor([[1.0], [-1.0], [1.0]])
    yield scored("scores falling in one head and sequence, rising in the next", sequences, draw.causal(Lq, Lk), parameters=turned)


def dropped(draw):
    """Dropout: none in eval mode, on the weights in training mode."""
    yield case(draw, "eval mode, dropout 0.4", 2, 5, 4, 3, 6, return_weights=True, init={"dropout": 0.4}, check="train/eval")
    yield case(draw, "training mode, dropout 0, mask", 2, 5, 4, 3, 6, mask=draw.keep(5, 4), mode="train", check="train/eval")
    yield case(draw, "training mode, dropout 0, no mask", 2, 5, 4, 3, 6, mode="train", check="train/eval")
    # So little that nothing is dropped: results and gradients are those of eval mode.
    yield case(draw, "training mode, dropout 1e-9, no mask", 2, 5, 4, 3, 6, init={"dropout": 1e-9}, mode="train", check="train/eval")
    yield case(draw, "training mode, dropout 1e-9, mask", 2, 5, 4, 3, 6, mask=draw.keep(5, 4), init={"dropout": 1e-9}, mode="train", check="train/eval")
    # Without values and o_proj dropout shows in no result and no gradient; the backward pass has to run all the same.
    nothing = {"v_proj.weight": torch.zeros(18, 18), "v_proj.bias": torch.zeros(18), "o_proj.weight": torch.zeros(18, 18)}
    for words, dtype in (("", "float32"), ("bfloat16, ", "bfloat16")):
        more = {"init": {"dropout": 0.4}, "parameters": nothing, "mode": "train", "dtype": dtype, "check": "train/eval"}
        yield case(draw, f"{words}training mode, dropout 0.4, values and o_proj zero", 2, 5, 4, 3, 6, **more)
    # Value j is the unit vector e_j and every head writes it to features j and Lk + j: the output *is* the weights, twice.
    B, Lq, Lk, H = 2, 5, 7, 4
    D = 2 * Lk
    M = H * D
    read_out = {"v_proj.weight": torch.eye(Lk, M).repeat(2 * H, 1), "v_proj.bias": torch.zeros(M)} | identity(M)
    for name, probability, return_weights in (("dropout 0.3, weights read out", 0.3, False), ("dropout 0.6, return_weights", 0.6, True)):
        yield case(
            draw,
            f"training mode, {name}",
            *(B, Lq, Lk, H, D),
            # One key is hidden, from all alike: dropout alone tells rows and heads apart.
            mask=None if return_weights else torch.arange(Lk)[None, :] != 2,
            return_weights=return_weights,
            compare_weights=False,
            inputs={"value": torch.eye(Lk, M).expand(B, Lk, M)},
            dims="B Lq (H copy K)",
            sizes={"copy": 2, "K": Lk},
            init={"dropout": probability},
            parameters=read_out,
            mode="train",
            dropout=probability,
            check="train/eval",
        )


def refusals():
    """Constructor arguments that cannot work."""
    yield from bad_sizes.heads()


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "value", "out"
SCORED_BY = {"value": "key"}
