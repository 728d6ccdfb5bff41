"""Cases for multi-head attention with a KV cache. `casekit.caches` describes the inputs."""

import torch

from attn_drill.casekit import (
    CachedMaker,
    Projected,
    Scores,
    bad_heads,
    caches,
    realistic_call,
    shaped,
)
from attn_drill.worker.returns import unpack

ROLES = Projected()


def drive(attention, given):
    """Call once without use_cache, or step by step with the cache of the step before."""
    past = (given.past_k, given.past_v) if "past_k" in given.inputs else None
    if "before" in given.inputs:
        list(steps(attention, given.before, (given.before.shape[1] - 1, 1)))
    if given.chunks is None:
        return {"out": attention(given.x) if past is None else attention(given.x, past_kv=past)}
    own_steps = steps(attention, given.x, given.chunks, past)
    if "other" in given.inputs:
        other_steps = steps(attention, given.other, given.chunks)
        *_, (last, other) = zip(own_steps, other_steps, strict=False)
        return last | {f"other_{name}": value for name, value in other.items()}
    done = list(own_steps)
    if "branch" not in given.inputs:
        return done[-1]
    cache = done[given.branch_from]["k"], done[given.branch_from]["v"]
    (branch,) = steps(attention, given.branch, given.branch.shape[1:2], cache)
    return done[-1] | {f"branch_{name}": value for name, value in branch.items()}


def steps(attention, x, chunks, past=None):
    """Yield all outputs so far and the cache after every step. End at a wrong shape."""
    outs, start = [], 0
    for length in chunks:
        chunk = x[:, start : start + length]
        start += length
        on_past = {} if past is None else {"past_kv": past}
        out, cache = unpack(attention(chunk, **on_past, use_cache=True), "out", "(k, v)")
        k, v = past = unpack(cache, "k", "v")
        outs.append(out)
        if getattr(out, "shape", None) != chunk.shape:
            yield {"out": out, "k": k, "v": v}
            return
        yield {"out": torch.cat(outs, dim=1) if len(outs) > 1 else out, "k": k, "v": v}


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = CachedMaker(
        draw,
        init={"d_model": "M", "num_heads": "H"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        roles=ROLES,
    )
    sizes = {"B": 2, "H": 4, "D": 6}
    yield from caches.steps(case, **sizes)
    yield case("one sequence, one head, token by token", B=1, H=1, D=4, chunks=(1, 1, 1))
    no_biases = {"Lpast": 5, "init": {"bias": False}, **sizes}
    yield case("no biases: chunk 2, one token, on a past of 5", chunks=(2, 1), **no_biases)
    ranges = {"B": (2, 4), "H": (2, 5), "D": (3, 9), "Lpast": (2, 9)}
    ranges |= {"first": (2, 7), "second": (2, 6)}
    drawn = draw.sizes(sums={"L": ("first", "second", 1)}, **ranges)
    chunks = (drawn.pop("first"), drawn.pop("second"), 1)
    yield case("random sizes", chunks=chunks, **drawn)
    for suite in (caches.tiny_values, caches.dtypes, caches.zero_tokens, caches.steep_scores):
        yield from suite(case, **sizes)
    yield from far_above(case, **sizes)
    for suite in (caches.sequences, caches.layouts, caches.work):
        yield from suite(case, **sizes)
    yield from caches.growth(case, sizes, {"B": 14, "H": 18})


def far_above(case, **sizes):
    """Yield future scores of 100000, from which no small number can be subtracted."""
    last = torch.arange(5) == 4
    # The last query has the opposite sign, so this score is -100000 in its own row.
    queries = torch.where(last, -1.0, 1.0)
    scores = Scores(torch.where(last, 1e5, 0.0), queries=queries, factored=True)
    parts = ROLES.scored(case, case.with_products({**sizes, "L": 5}), scores)
    name = "chunks 2 and 3, a last token at +100000 that earlier tokens do not see"
    yield case(name, chunks=(2, 3), check="masks", **parts, **sizes)


refusals = bad_heads


def realistic():
    """Return the call that is measured after a pass: one decode step after 2047 tokens."""
    return realistic_call(
        "one decode step of a layer of 4096 with 32 heads, B = 1, 2047 cached tokens",
        init={"d_model": 4096, "num_heads": 32},
        x=shaped(1, 1, 4096),
        past_k=shaped(1, 32, 2047, 128),
        past_v=shaped(1, 32, 2047, 128),
        chunks=(1,),
    )
