"""Cases for multi-head attention with a KV cache. Sizes differ within a case, so that no axis passes by luck."""

import torch

from trainer.casekit import refusals as bad_sizes
from trainer.core.words import Case
from trainer.running.returns import unpack


def drive(attention, given):
    """One call without a cache, or steps that hand the cache on; `before`, `other` and `branch` are further sequences."""
    past = (given.past_k, given.past_v) if "past_k" in given.inputs else None
    if "before" in given.inputs:
        list(steps(attention, given.before, (given.before.shape[1] - 1, 1)))
    if given.chunks is None:
        return {"out": attention(given.x) if past is None else attention(given.x, past_kv=past)}
    if "other" in given.inputs:
        *_, (mine, theirs) = zip(steps(attention, given.x, given.chunks), steps(attention, given.other, given.chunks), strict=False)
        return mine | {f"other_{name}": value for name, value in theirs.items()}
    done = list(steps(attention, given.x, given.chunks, past))
    if "branch" in given.inputs:
        (theirs,) = steps(attention, given.branch, given.branch.shape[1:2], (done[given.branch_from]["k"], done[given.branch_from]["v"]))
        return done[-1] | {f"branch_{name}": value for name, value in theirs.items()}
    return done[-1]


def steps(attention, x, chunks, past=None):
    """Call on one chunk after the other, each with the cache of the last.

    Yields, after every step, all outputs so far and the cache. An output of a wrong shape comes alone and ends it.
    """
    outs, start = [], 0
    for length in chunks:
        chunk = x[:, start : start + length]
        start += length
        returned = attention(chunk, use_cache=True) if past is None else attention(chunk, past_kv=past, use_cache=True)
        out, cache = unpack(returned, "out", "(k, v)")
        k, v = past = unpack(cache, "k", "v")
        outs.append(out)
        if getattr(out, "shape", None) != chunk.shape:
            yield {"out": out, "k": k, "v": v}
            return
        yield {"out": torch.cat(outs, dim=1) if len(outs) > 1 else out, "k": k, "v": v}


def case(draw, name, B, L, H, D, past=0, chunks=None, heads_apart=False, x=None, init=None, **more):
    """One case with x ~ N(0, 1) of these sizes, on a raw past of this many tokens; chunks: lengths that make up L, or no cache asked for."""
    M = H * D
    inputs = {"x": draw.normal(B, L, M) if x is None else x, "chunks": chunks}
    sizes = {"B": B, "L": L, "H": H, "D": D, "M": M}
    if past:
        inputs |= {"past_k": draw.normal(B, H, past, D), "past_v": draw.normal(B, H, past, D)}
        sizes |= {"Lpast": past, "Lpast+L": past + L}
    keys = "B H Lpast+L D" if past else "B H L D"
    dims = {"out": "B L (H D)" if heads_apart else "B L M"} | ({"k": keys, "v": keys} if chunks else {})
    parameters = {"o_proj.weight": torch.eye(M), "o_proj.bias": torch.zeros(M)} if heads_apart else {}
    return Case(
        name=name,
        inputs=inputs | more.pop("inputs", {}),
        dims=dims | more.pop("dims", {}),
        sizes=sizes | more.pop("sizes", {}),
        init={"d_model": M, "num_heads": H} | (init or {}),
        parameters=parameters | more.pop("parameters", {}),
        **more,
    )


def cases(draw):
    """What a submission is run on."""
    yield case(draw, "no past, heads apart (o_proj is the identity)", 2, 5, 3, 7, heads_apart=True)
    yield case(draw, "no past, use_cache", 3, 7, 4, 5, chunks=(7,))
    yield case(draw, "one new token on a past of 6, heads apart", 2, 1, 3, 5, past=6, chunks=(1,), heads_apart=True)
    yield case(draw, "a chunk of 3 on a past of 4, heads apart", 2, 3, 5, 6, past=4, chunks=(3,), heads_apart=True)
    yield case(draw, "a chunk of 5 on a past of 7, without use_cache", 2, 5, 3, 6, past=7)
    yield case(draw, "one new token on a past of 5, without use_cache", 3, 1, 2, 4, past=5)
    yield case(draw, "prefill 7, chunks 1, 4, 4, three decode steps", 2, 19, 3, 5, chunks=(7, 1, 4, 4, 1, 1, 1))
    yield case(draw, "training mode: prefill 3, chunk 2, two decode steps", 3, 7, 2, 5, chunks=(3, 2, 1, 1), mode="train")
    yield case(draw, "no biases: chunk 2, one token, on a past of 4", 2, 3, 5, 6, past=4, chunks=(2, 1), init={"bias": False})
    yield case(draw, "one sequence, one head, token by token", 1, 3, 1, 4, chunks=(1, 1, 1))
    yield case(draw, "one sequence, a chunk of 3 on a past of one token", 1, 3, 2, 5, past=1, chunks=(3,))
    zeros = {"past_k": draw.normal_with_zeros(2, 4, 4, 3), "past_v": draw.normal_with_zeros(2, 4, 4, 3, row=2)}
    for words, chunks in (("", None), (", use_cache", (3,))):
        yield case(draw, f"a token of zeros, no biases{words}", 2, 5, 4, 3, chunks=chunks and (5,), x=draw.normal_with_zeros(2, 5, 12), init={"bias": False})
        on_past = {"x": draw.normal_with_zeros(2, 3, 12), "inputs": zeros, "init": {"bias": False}}
        yield case(draw, f"a token of zeros on a past that holds some, no biases{words}", 2, 3, 4, 3, past=4, chunks=chunks, **on_past)
    B, P, one, two, H, D = draw.distinct((2, 4), (2, 9), (2, 7), (2, 6), (2, 5), (3, 9))
    yield case(draw, "random sizes", B, one + two + 1, H, D, past=P, chunks=(one, two, 1))
    yield tiny(draw)
    yield case(draw, "float64: chunks 2, 4, one token, on a past of 5", 2, 7, 3, 6, past=5, chunks=(2, 4, 1), dtype="float64")
    yield case(draw, "bfloat16: chunk 3, two decode steps, on a past of 4", 3, 5, 2, 6, past=4, chunks=(3, 1, 1), dtype="bfloat16")
    # What takes another way when no cache is asked for.
    yield case(draw, "training mode, a chunk of 3 on a past of 4, without use_cache", 2, 3, 5, 4, past=4, mode="train")
    layout = {"x": "transposed", "past_k": "transposed", "past_v": "strided"}
    yield case(draw, "float64, non-contiguous, without use_cache", 2, 5, 3, 4, past=7, layout=layout, dtype="float64")
    yield case(draw, "bfloat16, one token on a past of 6, without use_cache", 3, 1, 4, 5, past=6, dtype="bfloat16")
    yield case(draw, "float64, no past, without use_cache", 2, 7, 3, 5, dtype="float64")
    yield from steep(draw)
    yield from of_several_sequences(draw)
    yield from laid_out(draw)
    yield from counted(draw)


def tiny(draw):
    """Values of 1e-7: an output of zeros is no answer."""
    B, L, H, D, past = 2, 3, 4, 5, 7
    M = H * D
    parameters = {"v_proj.weight": draw.normal(M, M, scale=1e-7), "v_proj.bias": torch.zeros(M), "o_proj.bias": torch.zeros(M)}
    inputs = {"past_v": draw.normal(B, H, past, D, scale=1e-7)}
    return case(draw, "tiny values", B, L, H, D, past=past, chunks=(L,), inputs=inputs, parameters=parameters)


def steep(draw):
    """Scores of ±200. Feature 0 of a key is its score over 200, the same for every query: q[..., 0] = 200 sqrt(D), as x[..., 1] = 1."""
    B, L, H, D, past = 2, 5, 3, 4, 6
    M = H * D
    q_weight, k_weight = draw.normal(M, M, scale=M**-0.5), draw.normal(M, M, scale=M**-0.5)
    q_weight[::D], k_weight[::D] = 0, 0
    q_weight[::D, 1] = 200 * D**0.5
    k_weight[::D, 0] = 1
    q_weight[:, 2], k_weight[:, 2] = 0, 0
    zeros = {"q_proj.bias": torch.zeros(M), "k_proj.bias": torch.zeros(M)}

    def scored(name, old, new, chunks, turned=False, huge=False, gradients=False):
        """turned: the scores of one head and of every other sequence have the other sign, so that their maxima differ.
        huge: the last token has values of 1e30 and sees itself at -200 and all others at +200, so that nobody adds them up.

        Without gradients where visible scores are large: exp(score - logsumexp) is right, and what it loses at 200 is
        multiplied by 400 on the way to the keys.
        """
        weight = q_weight.clone()
        weight[::D, 1] *= torch.tensor([1.0, -1.0, 1.0] if turned else [1.0] * H)
        sign = torch.tensor([1.0, -1.0 if turned else 1.0])
        x = draw.normal(B, len(new), M)
        x[..., 0] = torch.tensor(new) * sign[:, None]
        x[..., 1:3] = torch.tensor([1.0, 0.0])
        x[:, -1, 1:3] = torch.tensor([-1.0, 1e30] if huge else [1.0, 0.0])
        past_k = draw.normal(B, H, len(old), D)
        past_k[..., 0] = torch.tensor(old) * sign[:, None, None]
        more = {"inputs": {"past_k": past_k}} if old else {}
        parameters = {"q_proj.weight": weight, "k_proj.weight": k_weight} | zeros
        return case(draw, name, B, len(new), H, D, past=len(old), chunks=chunks, x=x, parameters=parameters, gradients=gradients, check="masks", **more)

    rising, falling = [-1.0, -0.6, -0.2, 0.1, 0.4, 0.7, 1.0], [0.5, 0.1, -0.3, -0.6, -1.0]
    yield scored("a last token at +200 that the tokens before it do not see", [0.0] * past, [0.0, 0.0, 0.0, 0.0, 1.0], (L,), gradients=True)
    yield scored("a last token at +200 with values of 1e30, beside tokens at -200", [-1.0] * past, [-1.0, -1.0, -1.0, -1.0, 1.0], (L,), huge=True)
    yield scored("tokens to come at +200 beside a past at -200", [-1.0] * past, [-1.0, -1.0, 1.0, -1.0, 1.0], (L,))
    yield scored("a past at +200 beside tokens falling to -200, without use_cache", [1.0] * past, falling, None)
    yield scored("no past, scores rising from -200 to +200", [], rising, (4, 2, 1))
    yield scored("scores rising in one head and sequence, falling in the next", [-1.0] * past, rising[:L], (4, 1), turned=True)


def of_several_sequences(draw):
    """Nothing is kept inside the module, and a cache that was handed out stays as it was."""
    B, L, H, D, M = 2, 6, 3, 5, 15
    inputs = {"before": draw.normal(B, L, M)}
    yield case(draw, "a fresh call after a cached one", B, L, H, D, inputs=inputs, check="properties")
    inputs = {"other": draw.normal(B, L, M)}
    dims = {"other_out": "B L M", "other_k": "B H L D", "other_v": "B H L D"}
    yield case(draw, "two sequences in turn", B, L, H, D, chunks=(3, 1, 2), inputs=inputs, dims=dims, check="properties")
    prefill, n = 5, 2
    inputs, sizes = {"branch": draw.normal(B, n, M), "branch_from": 0}, {"n": n, "prefill+n": prefill + n}
    dims = {"branch_out": "B n M", "branch_k": "B H prefill+n D", "branch_v": "B H prefill+n D"}
    chunks = (prefill, n, 1)
    yield case(draw, "one prefill continued twice", B, sum(chunks), H, D, chunks=chunks, inputs=inputs, dims=dims, sizes=sizes, check="properties")
    # A buffer with room to spare does not exist yet after the prefill, but after the first step it does.
    inputs, sizes = {"branch": draw.normal(B, n, M), "branch_from": 1}, {"n": n, "prefill+n": prefill + 2 * n}
    name = "a cache of two steps continued twice"
    yield case(draw, name, B, sum(chunks), H, D, chunks=chunks, inputs=inputs, dims=dims, sizes=sizes, check="properties")


def laid_out(draw):
    """x and the past in memory of other orders."""
    layout = {"x": "transposed", "past_k": "strided", "past_v": "transposed"}
    yield case(draw, "non-contiguous x and past", 2, 5, 3, 4, past=6, chunks=(3, 2), layout=layout, check="properties")
    B, L, H, D, past = 3, 2, 4, 5, 6
    x, shared = draw.normal(1, L, H * D).expand(B, L, H * D), {"past_v": draw.normal(1, H, past, D).expand(B, H, past, D)}
    layout = {"x": "expanded", "past_v": "expanded"}
    yield case(draw, "expanded x and past values", B, L, H, D, past=past, chunks=(L,), x=x, inputs=shared, layout=layout, check="properties")


def counted(draw):
    """Operations of a call on few and on many, and the multiply-adds of one new token."""
    yield case(draw, "few and small, no past", 2, 3, 4, 5, probe="vectorised")
    yield case(draw, "many and large, no past", 7, 11, 9, 5, probe="vectorised")
    yield case(draw, "few and small, a chunk on a past", 2, 3, 4, 5, past=6, chunks=(3,), probe="vectorised")
    yield case(draw, "many and large, a chunk on a past", 7, 11, 9, 5, past=13, chunks=(11,), probe="vectorised")
    yield case(draw, "few and small, a chunk on a past, without use_cache", 2, 3, 4, 2, past=7, mode="train", probe="vectorised")
    yield case(draw, "many and large, a chunk on a past, without use_cache", 7, 10, 9, 2, past=17, mode="train", probe="vectorised")
    yield case(draw, "few and small, no past, use_cache", 2, 3, 4, 2, chunks=(3,), probe="vectorised")
    yield case(draw, "many and large, no past, use_cache", 7, 9, 9, 2, chunks=(9,), probe="vectorised")
    yield case(draw, "short, no past", 2, 5, 3, 2, probe="vectorised")
    yield case(draw, "long, no past", 2, 300, 3, 2, probe="vectorised")
    for past in (9, 150):
        B, H, D = 2, 3, 5
        M = H * D
        limit = 2 * B * (4 * M * M) + 2 * 2 * B * H * D * (past + 1)
        yield case(draw, f"one new token on a past of {past}", B, 1, H, D, past=past, chunks=(1,), probe="work", limit=limit)
        yield case(draw, f"one new token on a past of {past}, without use_cache", B, 1, H, D, past=past, probe="work", limit=limit)


def refusals():
    """Constructor arguments that cannot work."""
    yield from bad_sizes.bad_heads()


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, CACHED, QUERIES = "x", "past_v", "out"
SCORED_BY = {"past_v": "past_k"}


def values_alone(parameters):
    """The same weights with queries of zero: every key scores alike, and a token shows by its value alone."""
    return parameters | {name: 0 * parameters[name] for name in ("q_proj.weight", "q_proj.bias") if name in parameters}
