"""Cases for grouped-query attention with a KV cache. `casekit.caches` describes the inputs."""

import torch

from attn_drill.casekit import (
    CachedMaker,
    Projected,
    Scores,
    bad_groups,
    caches,
    realistic_call,
    shape,
    shaped,
)
from attn_drill.worker.returns import unpack

ROLES = Projected(kv_heads="Hkv", bias=False)


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
        init={"d_model": "M", "num_heads": "H", "num_kv_heads": "Hkv"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        cache="B Hkv L D",
        roles=ROLES,
    )
    sizes = {"B": 2, "H": 8, "Hkv": 4, "D": 6}
    yield from caches.steps(case, **sizes)
    yield case("one key/value head", B=2, H=4, Hkv=1, D=6, chunks=(3, 2), Lpast=7)
    same = {"H": 4, "Hkv": 4, "equal": "H Hkv"}
    yield case("as many kv heads as heads", B=2, D=6, chunks=(4, 1), Lpast=7, **same)
    yield case("one sequence, one head", B=1, H=1, Hkv=1, D=4, chunks=(1, 1, 1))
    biased = {"Lpast": 5, "init": {"bias": True}, **sizes}
    yield case("with biases: chunk 2, one token, on a past of 5", chunks=(2, 1), **biased)
    yield case("with biases, training mode, without use_cache", L=3, mode="train", **biased)
    ranges = {"B": (2, 4), "H": (2, 5), "Hkv": (2, 4), "D": (3, 9), "Lpast": (2, 9)}
    ranges |= {"first": (2, 7), "second": (2, 6)}
    drawn = draw.sizes(times={"H": "Hkv"}, sums={"L": ("first", "second", 1)}, **ranges)
    chunks = (drawn.pop("first"), drawn.pop("second"), 1)
    yield case("random sizes", chunks=chunks, **drawn)
    for suite in (caches.tiny_values, caches.dtypes, caches.zero_tokens, caches.steep_scores):
        yield from suite(case, **sizes)
    yield on_a_long_past(case)
    for suite in (caches.sequences, caches.layouts, caches.work):
        yield from suite(case, **sizes)
    yield from caches.growth(case, sizes, {"B": 14, "H": 36, "Hkv": 12})


def on_a_long_past(case):
    """Return a chunk of three tokens on a past of 255, with a last token at +200, in bfloat16.

    Mistakes: positions in the dtype of x, because bfloat16 has no number 257.
    """
    sizes = {"B": 2, "H": 8, "Hkv": 4, "D": 6}
    all_sizes = case.with_products({**sizes, "L": 3, "Lpast": 255})
    parts = ROLES.scored(case, all_sizes, Scores(200 * torch.tensor([0.0, 0.0, 1.0])))
    past_k = case.draw.normal(*shape(case.cached("Lpast"), all_sizes))
    past_k[..., 0] = 0
    parts["inputs"] |= {"past_k": past_k}
    name = "bfloat16, a chunk of 3 on a past of 255, the last token at +200"
    more = {"dtype": "bfloat16", "gradients": False, "check": "masks"}
    return case(name, chunks=(3,), Lpast=255, **parts, **more, **sizes)


refusals = bad_groups


def realistic():
    """Return the call that is measured after a pass: one decode step of a layer of Llama 3 8B."""
    return realistic_call(
        "one decode step of a layer of Llama 3 8B, B = 1, 2047 cached tokens",
        init={"d_model": 4096, "num_heads": 32, "num_kv_heads": 8},
        x=shaped(1, 1, 4096),
        past_k=shaped(1, 8, 2047, 128),
        past_v=shaped(1, 8, 2047, 128),
        chunks=(1,),
    )
