"""Cases for the rolling KV cache: chunks of any length, results that are kept, memory."""

from itertools import accumulate

import torch

from attn_drill.casekit import CaseMaker, realistic_call, shape, shaped
from attn_drill.worker.returns import unpack


def drive(make, given):
    """Append chunk by chunk. Return the results of all calls as they are after the last call."""
    if "caches" in given.inputs:
        return of_many(make, given)
    if "stretched" in given.inputs:
        return stretched(make, given)
    overwritten = given.inputs.get("overwritten")
    results = appended(new_cache(make, given), given.k, given.v, given.chunks, overwritten)
    if "other_k" in given.inputs:
        others = appended(new_cache(make, given), given.other_k, given.other_v, given.chunks)
        *_, (results, others) = zip(results, others, strict=True)
        return named(results, given.shown, "") | named(others, given.shown, "other_")
    *_, results = results
    return named(results, given.shown, "")


def new_cache(make, given):
    """Return an empty cache. Leave the dtype out if it is the default."""
    batch, heads, _, dim = given.k.shape
    more = () if given.k.dtype == torch.float32 else (given.k.dtype,)
    return make(batch, heads, given.window, dim, *more)


def stretched(make, given):
    """Append float64 values of about 1e200, and return the results divided by 1e200."""
    # In float32, in which the grader measures rounding, such values are inf.
    factor = 1e200 if given.k.dtype == torch.float64 else 1.0
    cache = new_cache(make, given)
    *_, results = appended(cache, given.k * factor, given.v * factor, given.chunks)
    wanted = given.k.dtype
    outputs = named(results, given.shown, "")
    return {
        name: value / factor if getattr(value, "dtype", None) == wanted else value
        for name, value in outputs.items()
    }


def appended(cache, k, v, chunks, overwritten=None):
    """Yield the list of all results so far after each call.

    With `overwritten`, the tensors of a call are filled with this number before the next call.
    """
    results, start, given = [], 0, ()
    for length in chunks:
        part = slice(start, start + length)
        start += length
        for tensor in given:
            tensor.fill_(overwritten)
        new = k[:, :, part], v[:, :, part]
        if overwritten is not None:
            new = given = tuple(tensor.clone() for tensor in new)
        results.append(unpack(cache.append(*new), "k", "v"))
        yield results


def named(results, shown, prefix):
    """Return the results of these calls by name."""
    outputs = {}
    for call in shown:
        outputs[f"{prefix}k_{call}"], outputs[f"{prefix}v_{call}"] = results[call - 1]
    return outputs


def of_many(make, given):
    """Fill several caches side by side. Return the last result of the last cache.

    So each moment of a cache counts as often as there are caches. The chunks are copies, and
    nothing outside of the caches keeps them.
    """
    caches = [new_cache(make, given) for _ in range(given.caches)]
    result, start = None, 0
    for length in given.chunks:
        part = slice(start, start + length)
        start += length
        for cache in caches:
            result = None
            result = cache.append(given.k[:, :, part].clone(), given.v[:, :, part].clone())
    return named([unpack(result, "k", "v")], (1,), "")


class RingMaker(CaseMaker):
    """Make cases with the options `chunks` (lengths of the calls) and `shown` (numbers of calls).

    W is the window.
    """

    def __call__(self, name, *, chunks, W, shown=None, prefixes=("",), inputs=None, **more):
        """Return one case. Without `shown`, the results of all calls are compared."""
        shown = shown or tuple(range(1, len(chunks) + 1))
        given = {"window": W, "chunks": chunks, "shown": shown, **(inputs or {})}
        total = sum(chunks)
        if total == W:
            more["equal"] = "L W"
        totals = {call: sum(chunks[:call]) for call in shown}
        # A letter for each length of a result: t3 is a length of 3.
        letters = {
            call: "W" if tokens >= W else "L" if tokens == total else f"t{tokens}"
            for call, tokens in totals.items()
        }
        lengths = {f"t{tokens}": tokens for tokens in totals.values() if tokens < min(W, total)}
        outputs = {
            f"{prefix}{part}_{call}": f"B Hkv {letter} D"
            for prefix in prefixes
            for call, letter in letters.items()
            for part in ("k", "v")
        }
        return super().__call__(
            name,
            inputs=given,
            outputs=outputs,
            more_sizes=lengths,
            gradients=False,
            L=total,
            W=W,
            **more,
        )


def cases(draw):
    """Yield the cases on which a submission runs."""
    dims = "B Hkv L D"
    case = RingMaker(draw, inputs={"k": dims, "v": dims}, outputs={})
    for name, W, chunks in (
        ("a chunk shorter than the window", 7, (5,)),
        ("a chunk as long as the window", 5, (5,)),
        ("a chunk longer than the window", 5, (8,)),
        ("a chunk of two windows", 5, (10,)),
        ("a full window, then single tokens", 5, (5, 1, 1, 1, 1, 1, 1)),
        ("token by token", 5, (1,) * 13),
        ("a chunk across the end of the ring", 7, (5, 4, 6, 5, 1)),
        ("long chunks on a full ring", 5, (6, 13, 1, 7, 2, 1, 1)),
        ("a long chunk on a ring that is not full", 5, (2, 9, 1, 1, 3)),
        ("chunks of the window", 5, (5, 5, 5, 1)),
        ("chunks of a token less than the window", 5, (4, 4, 4, 4)),
        ("chunks of a token more than the window", 5, (6, 6, 6, 6)),
        ("chunks that exactly fill the ring", 8, (3, 5, 1, 7, 1)),
        ("window 1", 1, (1, 1, 3, 1, 2)),
        ("window 2", 2, (1, 1, 1, 5, 1, 2, 1)),
        ("a window that is never full", 30, (6, 1, 1, 3, 8)),
    ):
        lengths = {min(W, tokens) for tokens in accumulate(chunks)}
        yield case(name, chunks=chunks, W=W, **differing(sum(chunks), *lengths))
    yield case("one sequence, one head, head dim 1", chunks=(2, 4, 1), W=3, B=1, Hkv=1, D=1)
    yield case("one sequence, token by token", chunks=(1,) * 6, W=4, B=1, Hkv=3, D=5)
    same = {"B": 3, "Hkv": 3, "D": 3, "W": 3, "equal": "B Hkv D W"}
    yield case("all sizes equal", chunks=(3, 2, 3, 1, 3), **same)
    same = {"B": 4, "Hkv": 4, "D": 4, "W": 4, "equal": "B Hkv D W"}
    yield case("all sizes equal, token by token", chunks=(1,) * 9, **same)
    yield random_case(case)
    yield from dtype_cases(case)
    zeros = {name: draw.normal_with_zeros(6, 7, 11, 8, row=row) for row, name in enumerate("kv")}
    zeros["k"][:, :, 7:9] = 0
    sizes = {"B": 6, "Hkv": 7, "D": 8, "W": 5}
    yield case("tokens of zeros", chunks=(3, 1, 3, 2, 2), inputs=zeros, **sizes)
    tiny = {name: draw.normal(6, 7, 9, 8, scale=1e-7) for name in ("k", "v")}
    yield case("tiny values", chunks=(4, 3, 1, 1), inputs=tiny, **sizes)
    huge = {name: draw.normal(6, 7, 9, 8, scale=1e30) for name in ("k", "v")}
    yield case("huge values", chunks=(2, 6, 1), inputs=huge, **sizes)
    # bfloat16 has only even numbers from 256 on, and int8 ends at 127.
    long = {"B": 1, "Hkv": 2, "D": 3, "W": 7}
    chunks = (150, 1, 5, 200, 4, 1, 1, 6, 1)
    yield case("369 tokens", chunks=chunks, **long)
    yield case("369 tokens, bfloat16", chunks=chunks, dtype="bfloat16", **long)
    steps = (280, *(1,) * 21)
    yield case("280 tokens, then 21 single tokens", chunks=steps, shown=(1, 2, 9, 22), **long)
    yield from property_cases(case, sizes)
    yield from memory_cases(case)


def differing(*taken):
    """Return sizes other than the taken numbers."""
    free = (size for size in range(2, 30) if size not in taken)
    return dict(zip(("B", "Hkv", "D"), free, strict=False))


def random_case(case):
    """Return a case with random chunks."""
    ranges = {"B": (2, 3), "Hkv": (2, 5), "D": (2, 7), "W": (4, 8)}
    ranges |= {"first": (1, 9), "second": (1, 15), "third": (1, 7)}
    drawn = case.draw.sizes(sums={"L": ("first", "second", "third", 3)}, **ranges)
    drawn.pop("L")
    first, second, third = (drawn.pop(name) for name in ("first", "second", "third"))
    return case("random chunks", chunks=(first, 1, second, 1, third, 1), **drawn)


def dtype_cases(case):
    """Yield caches of other dtypes."""
    sizes = {"B": 7, "Hkv": 8, "D": 5, "W": 4}
    for dtype in ("float64", "bfloat16"):
        yield case(f"{dtype}, token by token", chunks=(1,) * 6, dtype=dtype, **sizes)
        yield case(f"{dtype}, chunks", chunks=(3, 6, 1, 2), dtype=dtype, **sizes)
    # A cache keeps the tokens as they are, so a buffer of float32 is too small for float64.
    name, more = "float64, values of 1e200", {"inputs": {"stretched": 1}, **sizes}
    yield case(name, chunks=(3, 6, 1), dtype="float64", **more)


def property_cases(case, sizes):
    """Yield memory layouts, and two caches that are used in turn."""
    usual = {"check": "properties", **sizes}
    for layout in ("transposed", "strided"):
        yield case(f"{layout} inputs", chunks=(5, 2, 7, 1), layout=layout, **usual)
    full = shape(case.inputs["k"], {**sizes, "L": 9})
    shared = {name: case.draw.normal(1, *full[1:]).expand(full) for name in ("k", "v")}
    layout = dict.fromkeys(shared, "expanded")
    name = "equal sequences that share their memory"
    yield case(name, chunks=(5, 3, 1), inputs=shared, layout=layout, **usual)
    for name, chunks in (
        ("the caller overwrites its tensors, a window that is not full", (3, 1)),
        ("the caller overwrites its tensors, single tokens", (1,) * 9),
        ("the caller overwrites its tensors, a chunk of the window", (5, 1, 3)),
        ("the caller overwrites its tensors, a chunk longer than the window", (2, 6, 1)),
    ):
        # Only the last result is compared: an earlier one may be the caller's own tensor.
        more = {"shown": (len(chunks),), "inputs": {"overwritten": -9.0}, **usual}
        yield case(name, chunks=chunks, **more)
    others = {f"other_{name}": case.draw.normal(*full) for name in ("k", "v")}
    more = {"inputs": others, "prefixes": ("", "other_"), **usual}
    yield case("two caches in turn", chunks=(3, 1, 4, 1), **more)


def memory_cases(case):
    """Yield many full caches, whose memory is counted.

    A cache keeps up to 2 windows. One call may hold more for a moment, so there are 24 caches: the
    limit is 16 windows above what they may keep, less than 3 windows for each.
    """
    B, Hkv, D, W, caches = 2, 4, 256, 16, 24
    limit = 2 * (2 * caches + 16) * W * 2 * B * Hkv * D

    # Keys and values count together, and a long chunk of only one of them is too much, too.
    chunks = (5 * W, *(W // 2,) * 16, 1, 1, 5 * W, 1)
    more = {"chunks": chunks, "shown": (1,), "inputs": {"caches": caches}, "limit": limit}
    name = f"{caches} caches, held"
    yield case(name, probe="held", B=B, Hkv=Hkv, D=D, W=W, **more)


def realistic():
    """Return the call that is measured after a pass: a prompt chunk and a token of Mistral 7B."""
    return realistic_call(
        "8 key/value heads of 128, window 4096, B = 1, 1000 tokens, then one token",
        k=shaped(1, 8, 1001, 128),
        v=shaped(1, 8, 1001, 128),
        window=4096,
        chunks=(1000, 1),
        shown=(2,),
    )
