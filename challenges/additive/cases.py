"""Cases for additive attention. Sizes differ within a case, so that no axis passes by luck; the cases where two agree say so."""

import torch

from trainer.core.words import Case
from trainer.running.returns import unpack


def drive(attention, given):
    """One call; with `later`, one more on the same object, with a mask of its own or without one.

    A name in place of keys or values is that very tensor once more.
    """
    keys = given.query if isinstance(given.keys, str) else given.keys
    values = {"query": given.query, "keys": keys}[given.values] if isinstance(given.values, str) else given.values
    optional = {} if given.mask is None else {"mask": given.mask}
    out, weights = unpack(attention(given.query, keys, values, **optional), "out", "weights")
    outputs = {"weights": weights, "out": out}
    if given.later is not None:
        optional = {} if given.later_mask is None else {"mask": given.later_mask}
        outputs["later out"], outputs["later weights"] = unpack(attention(*given.later, **optional), "out", "weights")
    return outputs


def case(draw, name, B, Lq, Lk, query_dim, key_dim, hidden_dim, Dv, mask=None, later=None, later_mask=None, **more):
    """One case with query, keys and values ~ N(0, 1) of these sizes, or with those given; `later` are three more, of the same sizes."""
    inputs = {
        "query": draw.normal(B, Lq, query_dim),
        "keys": draw.normal(B, Lk, key_dim),
        "values": draw.normal(B, Lk, Dv),
        "mask": mask,
        "later": later,
        "later_mask": later_mask,
    }
    dims = {"weights": "B Lq Lk", "out": "B Lq Dv"}
    return Case(
        name=name,
        inputs=inputs | more.pop("inputs", {}),
        dims=dims if later is None else dims | {"later out": "B Lq Dv", "later weights": "B Lq Lk"},
        sizes={"B": B, "Lq": Lq, "Lk": Lk, "Dv": Dv, "query_dim": query_dim, "key_dim": key_dim, "hidden_dim": hidden_dim},
        init={"query_dim": query_dim, "key_dim": key_dim, "hidden_dim": hidden_dim},
        **more,
    )


def with_zeros(draw, B, Lq, Lk, query_dim, key_dim, Dv):
    """Inputs of which a query, a key and the value of another are zero: a score is 0, and hidden by no mask.

    Gradients are left out: a tanh by hand, over |x|, has none at 0.
    """
    keys, values = draw.normal_with_zeros(B, Lk, key_dim, row=2), draw.normal_with_zeros(B, Lk, Dv, row=3)
    return {"query": draw.normal_with_zeros(B, Lq, query_dim), "keys": keys, "values": values}


def cases(draw):
    """What a submission is run on."""
    yield case(draw, "no mask", 2, 5, 7, 4, 6, 8, 3)
    yield case(draw, "more queries than keys, key_dim smaller than query_dim", 3, 7, 4, 9, 5, 6, 8)
    yield case(draw, "random sizes", *draw.distinct((2, 3), (3, 9), (3, 9), (4, 12), (4, 12), (4, 14), (2, 9)))
    yield case(draw, "query, keys and values of one shape", 2, 5, 5, 4, 4, 6, 4)
    yield case(draw, "one tensor for keys and values", 3, 4, 7, 6, 5, 8, 5, inputs={"values": "keys"})
    yield case(draw, "one tensor for keys and values, of the query's shape", 2, 5, 5, 4, 4, 6, 4, inputs={"values": "keys"})
    yield case(draw, "one tensor for query and keys, values of their shape", 2, 6, 6, 5, 5, 3, 5, inputs={"keys": "query"})
    yield case(draw, "one tensor for query and values, keys of their shape", 2, 6, 6, 5, 5, 3, 5, inputs={"values": "query"})
    yield case(draw, "one tensor for query, keys and values", 2, 6, 6, 5, 5, 3, 5, inputs={"keys": "query", "values": "keys"})
    yield case(draw, "all sizes alike", 4, 4, 4, 4, 4, 4, 4)
    yield case(draw, "a query, a key and a value of zeros", 2, 5, 7, 4, 6, 8, 3, inputs=with_zeros(draw, 2, 5, 7, 4, 6, 3), gradients=False)
    yield case(draw, "one query, one hidden unit", 3, 1, 6, 4, 5, 1, 2)
    yield case(draw, "one key, value dim 1", 2, 4, 1, 3, 5, 6, 1)
    yield case(draw, "one of everything", 1, 1, 1, 1, 1, 1, 1, inputs={"mask": torch.ones(1, 1, 1, dtype=torch.bool)})
    yield case(draw, "tiny values", 2, 4, 6, 5, 3, 8, 7, inputs={"values": draw.normal(2, 6, 7, scale=1e-7)})
    yield case(draw, "training mode", 2, 5, 8, 4, 3, 7, 6, mode="train", check="train/eval")
    yield case(draw, "training mode, mask", 2, 5, 8, 4, 3, 7, 6, mask=draw.keep(2, 5, 8), mode="train", check="train/eval")
    yield case(draw, "float64, no mask", 2, 5, 7, 6, 4, 9, 3, dtype="float64")
    yield case(draw, "bfloat16, no mask", 2, 5, 7, 6, 4, 9, 3, dtype="bfloat16")
    yield from masked(draw)
    yield from steep(draw)
    yield from laid_out(draw)
    yield case(draw, "few and small", 2, 3, 5, 4, 6, 8, 7, mask=draw.keep(2, 3, 5), check="masks", probe="vectorised")
    yield case(draw, "many and large", 7, 9, 11, 4, 6, 8, 7, mask=draw.keep(7, 9, 11), check="masks", probe="vectorised")
    yield case(draw, "few and small, padding", 2, 4, 6, 3, 5, 7, 8, mask=draw.keep(2, 1, 6), check="masks", probe="vectorised")
    yield case(draw, "many and large, padding", 9, 10, 12, 3, 5, 7, 8, mask=draw.keep(9, 1, 12), check="masks", probe="vectorised")
    yield case(draw, "few and small, no mask", 3, 2, 4, 5, 6, 9, 7, probe="vectorised")
    yield case(draw, "many and large, no mask", 8, 10, 12, 5, 6, 9, 7, probe="vectorised")
    yield case(draw, "short, no mask", 2, 4, 5, 3, 6, 7, 8, probe="vectorised")
    yield case(draw, "long, no mask", 2, 200, 210, 3, 6, 7, 8, probe="vectorised")


def masked(draw):
    """A mask a query and a mask for all queries, also where sizes agree and one that is lined up wrongly raises nothing."""
    causal = draw.causal(5, 7) & draw.padding(3, 7)[:, None, :]
    causal[..., 0] = True  # every row keeps a key
    yield case(draw, "padding on the right [B, 1, Lk]", 3, 5, 7, 4, 6, 8, 2, mask=draw.padding(3, 7)[:, None, :], check="masks")
    yield case(draw, "mask with holes [B, 1, Lk]", 2, 4, 8, 3, 5, 6, 7, mask=draw.keep(2, 1, 8), check="masks")
    yield case(draw, "causal and padding [B, Lq, Lk]", 3, 5, 7, 6, 4, 2, 9, mask=causal, check="masks")
    yield case(draw, "mask with holes [B, Lq, Lk]", 3, 6, 5, 4, 7, 8, 2, mask=draw.keep(3, 6, 5), check="masks")
    yield case(draw, "B = Lq = Lk, mask [B, 1, Lk]", 4, 4, 4, 3, 5, 6, 2, mask=draw.keep(4, 1, 4), check="masks")
    yield case(draw, "B = Lq = Lk, mask [B, Lq, Lk]", 4, 4, 4, 3, 5, 6, 2, mask=draw.keep(4, 4, 4), check="masks")
    zeros = with_zeros(draw, 2, 5, 7, 4, 6, 3)
    mask = draw.causal(5, 7).expand(2, 5, 7)
    yield case(draw, "a query, a key and a value of zeros, masked", 2, 5, 7, 4, 6, 8, 3, mask=mask, inputs=zeros, gradients=False, check="masks")
    yield case(draw, "all sizes alike, masked", 4, 4, 4, 4, 4, 4, 4, mask=draw.keep(4, 4, 4), check="masks")
    yield case(draw, "one query, mask [B, 1, Lk]", 3, 1, 6, 4, 5, 7, 2, mask=draw.keep(3, 1, 6), check="masks")
    yield case(draw, "one batch item, float64, mask [1, Lq, Lk]", 1, 5, 7, 4, 3, 6, 2, mask=draw.keep(1, 5, 7), dtype="float64", check="masks")
    yield case(draw, "bfloat16, padding [B, 1, Lk]", 3, 5, 7, 6, 4, 8, 2, mask=draw.padding(3, 7)[:, None, :], dtype="bfloat16", check="masks")


def steep(draw):
    """Scores of ±200: feature 0 of a key is its score / 200 before the tanh, feature 0 of a query turns a unit of its own all the way."""
    B, Lq, Lk, query_dim, key_dim, hidden_dim, Dv = 3, 4, 6, 5, 7, 8, 2
    q_weight, k_weight = draw.normal(hidden_dim, query_dim, scale=query_dim**-0.5), draw.normal(hidden_dim, key_dim, scale=key_dim**-0.5)
    score_weight = draw.normal(1, hidden_dim, scale=hidden_dim**-0.5)
    # Unit 0 hears feature 0 of the key and nothing else, unit 1 feature 0 of the query; the other units hear neither and add about ±1.
    q_weight[:2], k_weight[:2], q_weight[:, 0], k_weight[:, 0] = 0, 0, 0, 0
    k_weight[0, 0], q_weight[1, 0] = 1, 1
    score_weight[0, 0], score_weight[0, 1] = 200, 200
    parameters = {"q_proj.weight": q_weight, "k_proj.weight": k_weight, "score_proj.weight": score_weight}

    def scored(name, of_keys, mask, of_queries=0.01, values=None, gradients=False, check="masks"):
        """Scores near 200 * of_keys + 200 * of_queries. Without gradients where allowed ones are large: rounding would show in them, times 200."""
        query, keys = draw.normal(B, Lq, query_dim), draw.normal(B, Lk, key_dim)
        # tanh(20) is 1
        query[..., 0] = torch.as_tensor(of_queries).double().atanh().clamp(-20, 20)
        keys[..., 0] = torch.as_tensor(of_keys).double().atanh().clamp(-20, 20)
        inputs = {"query": query, "keys": keys, "mask": mask} | ({} if values is None else {"values": values})
        return case(draw, name, B, Lq, Lk, query_dim, key_dim, hidden_dim, Dv, inputs=inputs, parameters=parameters, gradients=gradients, check=check)

    # Several keys share the top, so that the weights are more than one 1 and zeros.
    falling = torch.tensor([1.0, 1.0, 1.0, 0.4, -0.3, -1.0])
    turns = torch.tensor([1.0, -1.0, 1.0, -1.0])
    every_other = torch.tensor([True, False, True, False, True, False])
    sequences = torch.tensor([[1.0], [-1.0], [1.0]])
    apart = torch.where(every_other, -1.0, 1.0)
    yield scored("scores falling from +200 to -200, no mask", falling, None, check="values")
    yield scored("one query's scores near +200, the next one's near -200, no mask", 0.01, None, of_queries=turns, check="values")
    yield scored("one sequence's scores near +200, the next one's near -200, no mask", sequences.expand(B, Lk), None, check="values")
    yield scored("scores rising from -200 to +200, causal", falling.flip(0), draw.causal(Lq, Lk).expand(B, Lq, Lk))
    yield scored("masked scores of +200 beside ordinary ones", apart.clamp(min=0.01), every_other.expand(B, 1, Lk), gradients=True)
    # Any weight that is not exactly 0 shows: the masked values are large and the others small.
    values = torch.where(every_other[:, None], draw.normal(B, Lk, Dv, scale=1e-6), 1e36)
    yield scored("masked scores of +200 and values of 1e36 beside -200", apart, every_other.expand(B, Lq, Lk), values=values)
    alternate = torch.stack([every_other, ~every_other]).repeat(Lq // 2, 1)
    yield scored("a row of scores near -200, the next near +200", apart, alternate.expand(B, Lq, Lk))


def laid_out(draw):
    """Memory of any layout, and calls that follow one another."""
    names = ("query", "keys", "values", "mask")
    turned, strided, expanded = (dict.fromkeys(names, layout) for layout in ("transposed", "strided", "expanded"))
    yield case(draw, "non-contiguous inputs", 2, 5, 7, 4, 6, 3, 8, mask=draw.keep(2, 5, 7), layout=turned, check="properties")
    yield case(draw, "parts of larger inputs", 3, 6, 4, 5, 7, 8, 2, mask=draw.keep(3, 1, 4), layout=strided, check="properties")
    B, Lq, Lk, query_dim, key_dim, _, Dv = sizes = 3, 4, 6, 7, 5, 8, 2
    same = {"query": draw.normal(1, Lq, query_dim), "keys": draw.normal(1, Lk, key_dim), "values": draw.normal(1, Lk, Dv), "mask": draw.keep(1, Lq, Lk)}
    inputs = {name: tensor.expand(B, -1, -1) for name, tensor in same.items()}
    yield case(draw, "expanded inputs", *sizes, inputs=inputs, layout=expanded, check="properties")

    def followed_by(mask):
        """A second call on inputs of the same sizes."""
        return {"later": (draw.normal(B, Lq, query_dim), draw.normal(B, Lk, key_dim), draw.normal(B, Lk, Dv)), "later_mask": mask}

    again = "the same sizes again"
    yield case(draw, f"{again} with another mask", *sizes, mask=draw.keep(B, Lq, Lk), **followed_by(draw.keep(B, Lq, Lk)), check="properties")
    yield case(draw, f"{again}, now without a mask", *sizes, mask=draw.keep(B, 1, Lk), **followed_by(None), check="properties")
    yield case(draw, f"{again}, now with a mask", *sizes, **followed_by(draw.keep(B, Lq, Lk)), check="properties")


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "values", "out"
SCORED_BY = {"values": "keys"}
