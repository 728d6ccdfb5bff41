"""Suites for modules with a cache of keys and values.

The `drive` of a challenge with a cache reads these inputs:

    x               the new tokens
    past_k, past_v  the cache to start from, if the case has one
    chunks          the lengths of the steps that make up x; each step uses the cache of the step
                    before; None for a single call that requests no cache
    before          another sequence, which runs first, with a cache
    other           another sequence, whose steps alternate with the steps of x
    branch          another continuation of the cache after step `branch_from`

Lengths of these suites are odd. Use even sizes for batch, heads and head dim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from attn_drill.casekit import suites
from attn_drill.casekit._maker import CaseMaker, Scores, Sizes, shape
from attn_drill.model.case import Case


@dataclass(frozen=True)
class CachedMaker(CaseMaker):
    """Make the cases of a module with a cache."""

    cache: str = "B H L D"  # the dimensions of cached keys and values

    def __call__(
        self,
        name: str,
        *,
        chunks: tuple[int, ...] | None = None,
        Lpast: int = 0,
        inputs: Mapping[str, object] | None = None,
        outputs: Mapping[str, str] | None = None,
        more_sizes: Mapping[str, int] | None = None,
        **more: Any,
    ) -> Case:
        """Return one case. Its length L is the sum of `chunks`, if it has chunks."""
        all_inputs: dict[str, object] = {"chunks": chunks}
        dims = dict(outputs or self.outputs)
        extra = dict(more_sizes or {})
        length = "L"
        if chunks is not None:
            more["L"] = sum(chunks)
        if Lpast:
            length = "Lpast+L"
            extra[length] = Lpast + more["L"]
            more["Lpast"] = Lpast
            past = shape(self.cached("Lpast"), more)
            all_inputs |= {"past_k": self.draw.normal(*past), "past_v": self.draw.normal(*past)}
        if chunks is not None:
            dims |= {"k": self.cached(length), "v": self.cached(length)}
        all_inputs |= inputs or {}
        return super().__call__(name, inputs=all_inputs, outputs=dims, more_sizes=extra, **more)

    def cached(self, length: str) -> str:
        """Return the dimensions of a cache of this length: "B H Lpast D"."""
        return " ".join(length if word == "L" else word for word in self.cache.split())


def steps(case: CachedMaker, **sizes: Any) -> Iterator[Case]:
    """Yield calls with and without a cache to start from, which return a cache or do not.

    Mistakes: a causal mask that is aligned at the start, made for one length only or left out; new
    keys put before old keys or over them; a cache of repeated heads; a cache that is returned or
    used only sometimes; separate code for single tokens.
    """
    # The cases with heads apart, and the first case without a past, stay although other cases catch
    # their mistakes: the report can name heads in them, and they separate the kinds of calls that
    # the long sequence of steps is made of.
    apart = suites.heads_apart
    yield from apart(case, "no past, heads apart (o_proj is the identity)", L=5, **sizes)
    yield case("no past, use_cache", chunks=(7,), **sizes)
    name = "one new token on a past of 7, heads apart"
    yield from apart(case, name, chunks=(1,), Lpast=7, **sizes)
    name = "a chunk of 3 on a past of 5, heads apart"
    yield from apart(case, name, chunks=(3,), Lpast=5, **sizes)
    yield case("a chunk of 5 on a past of 7, without use_cache", L=5, Lpast=7, **sizes)
    yield case("one new token on a past of 5, without use_cache", L=1, Lpast=5, **sizes)
    lengths = (7, 1, 4, 4, 1, 1, 1)
    yield case("prefill 7, chunks 1, 4, 4, three decode steps", chunks=lengths, **sizes)
    name = "training mode: prefill 3, chunk 2, two decode steps"
    yield case(name, chunks=(3, 2, 1, 1), mode="train", **sizes)
    single = {**sizes, "B": 1}
    yield case("one sequence, token by token", chunks=(1, 1, 1), **single)
    yield case("one sequence, a chunk of 3 on a past of one token", chunks=(3,), Lpast=1, **single)
    # Code may take another branch if the caller requests no cache.
    name = "training mode, a chunk of 3 on a past of 5, without use_cache"
    yield case(name, L=3, Lpast=5, mode="train", **sizes)


def dtypes(case: CachedMaker, **sizes: Any) -> Iterator[Case]:
    """Yield steps and single calls in float64 and bfloat16.

    Mistakes: a mask, zeros or a buffer in float32; a `.float()` that changes the dtype of the
    output or the cache.
    """
    for dtype in ("float64", "bfloat16"):
        name = f"{dtype}: chunks 2, 4, one token, on a past of 5"
        yield case(name, chunks=(2, 4, 1), Lpast=5, dtype=dtype, **sizes)
    yield case("float64, no past, without use_cache", L=7, dtype="float64", **sizes)
    name = "bfloat16, one token on a past of 7, without use_cache"
    yield case(name, L=1, Lpast=7, dtype="bfloat16", **sizes)


def tiny_values(case: CachedMaker, **sizes: Any) -> Iterator[Case]:
    """Yield values of about 1e-7, also in the cache.

    Mistakes: an output of zeros, an epsilon that is added to the output or to a denominator.
    """
    all_sizes = case.with_products({**sizes, "L": 3, "Lpast": 7})
    new = suites.projected(case).tiny(case, all_sizes)
    small = 1e-7 * case.draw.normal(*shape(case.cached("Lpast"), all_sizes))
    yield case("tiny values", chunks=(3,), Lpast=7, inputs={"past_v": small}, **new, **sizes)


def zero_tokens(case: CachedMaker, **sizes: Any) -> Iterator[Case]:
    """Yield tokens of zeros, new and cached, without biases.

    Mistakes: a score of 0 taken for a masked score, a row of zeros taken for an unused row of a
    buffer.
    """
    all_sizes = case.with_products(sizes)
    more: dict[str, Any] = {**suites.projected(case).without_biases(), **sizes}
    for use_cache in (False, True):
        for past, length in ((0, 5), (5, 3)):
            name = "tokens of zeros"
            x_shape = shape(case.inputs["x"], {**all_sizes, "L": length})
            inputs: dict[str, object] = {"x": case.draw.normal_with_zeros(*x_shape)}
            if past:
                name += ", also in the past"
                full = shape(case.cached("Lpast"), {**all_sizes, "Lpast": past})
                inputs["past_k"] = case.draw.normal_with_zeros(*full)
                inputs["past_v"] = case.draw.normal_with_zeros(*full, row=2)
            more |= {"Lpast": past, "inputs": inputs}
            if use_cache:
                yield case(f"{name}, use_cache", chunks=(length,), **more)
            else:
                yield case(name, L=length, **more)


def steep_scores(case: CachedMaker, **sizes: Any) -> Iterator[Case]:
    """Yield scores of ±200, in the cache and among the new tokens.

    Mistakes: `exp` without subtracting the largest score; a largest score taken over more than one
    row or before the mask; a fill that is not far enough below -200; future tokens that are added
    with weights of nearly 0.
    """
    roles = suites.projected(case)
    signs = (-1.0) ** torch.arange(sizes["B"])[:, None]

    def scored(
        name: str,
        old: Sequence[float],
        new: Sequence[float],
        chunks: tuple[int, ...] | None,
        gradients: bool = False,
        huge: bool = False,
        alternating: bool = False,
    ) -> Case:
        """Return a case with scores of 200 times `old` (cached keys) and `new` (new keys)."""
        all_sizes = case.with_products({**sizes, "L": len(new)})
        of_sequences = signs if alternating else torch.ones(1, 1)
        last = torch.arange(len(new)) == len(new) - 1
        scores = Scores(
            200 * torch.tensor(new) * of_sequences,
            # The last query has the opposite sign, so its score is -200 for the last key and +200
            # for all other keys.
            queries=torch.where(last, -1.0, 1.0) if huge else None,
            huge=last if huge else None,
            alternating=alternating,
        )
        parts = roles.scored(case, all_sizes, scores)
        if old:
            full = shape(case.cached("Lpast"), {**all_sizes, "Lpast": len(old)})
            past_k = case.draw.normal(*full)
            past_k[..., 0] = 200 * torch.tensor(old) * of_sequences[:, None]
            past_v = case.draw.normal(*full, scale=1e-6 if huge else 1.0)
            parts["inputs"] |= {"past_k": past_k, "past_v": past_v}
        more = {**parts, **sizes, "L": len(new), "gradients": gradients, "check": "masks"}
        return case(name, chunks=chunks, Lpast=len(old), **more)

    # Gradients are compared only if no visible score is much larger than the others, because large
    # scores magnify the rounding of right answers by 200.
    name = "a last token at +200 that earlier tokens do not see"
    yield scored(name, [0.0] * 7, [0.0, 0.0, 0.0, 0.0, 1.0], (5,), gradients=True)
    name = "a last token at +200 with values of 1e36, other tokens at -200"
    yield scored(name, [-1.0] * 7, [-1.0, -1.0, -1.0, -1.0, 1.0], (5,), huge=True)
    # Stays: with ordinary values, this case separates a wrong largest score from a wrong fill.
    name = "future tokens at +200, a past at -200"
    yield scored(name, [-1.0] * 7, [-1.0, -1.0, 1.0, -1.0, 1.0], (5,))
    name = "a past at +200, new tokens falling to -200, without use_cache"
    yield scored(name, [1.0] * 7, [0.5, 0.1, -0.3, -0.6, -1.0], None)
    rising = [-1.0, -0.6, -0.2, 0.1, 0.4, 0.7, 1.0]
    yield scored("no past, scores rising from -200 to +200", [], rising, (4, 2, 1))
    name = "scores rising in one head and sequence, falling in the next"
    yield scored(name, [-1.0] * 7, rising[:5], (4, 1), alternating=True)


def sequences(case: CachedMaker, **sizes: Any) -> Iterator[Case]:
    """Yield several sequences on one object.

    Mistakes: a cache that is stored in the module; a returned cache that changes later; a buffer
    with spare rows that two continuations share.
    """
    all_sizes = case.with_products(sizes)
    x = case.inputs["x"]
    usual: dict[str, Any] = {"check": "properties", **sizes}
    before = case.draw.normal(*shape(x, {**all_sizes, "L": 5}))
    yield case("a fresh call after a cached one", inputs={"before": before}, L=5, **usual)
    other = case.draw.normal(*shape(x, {**all_sizes, "L": 7}))
    outputs = {
        **case.outputs,
        "other_out": case.outputs["out"],
        "other_k": case.cached("L"),
        "other_v": case.cached("L"),
    }
    name = "two alternating sequences"
    yield case(name, chunks=(3, 1, 3), inputs={"other": other}, outputs=outputs, **usual)
    # A buffer with spare rows may not exist after the prefill, but it exists after a step. The
    # first of the two cases stays: it separates a cache that changes in every call from a buffer.
    for name, start, length in (
        ("one prefill continued twice", 0, 5),
        ("a cache of two steps continued twice", 1, 8),
    ):
        branch = case.draw.normal(*shape(x, {**all_sizes, "L": 3}))
        inputs = {"branch": branch, "branch_from": start}
        outputs = {
            **case.outputs,
            "branch_out": " ".join("n" if word == "L" else word for word in x.split()),
            "branch_k": case.cached("prefill+n"),
            "branch_v": case.cached("prefill+n"),
        }
        more = {"outputs": outputs, "more_sizes": {"n": 3, "prefill+n": length + 3}, **usual}
        yield case(name, chunks=(5, 3, 1), inputs=inputs, **more)


def layouts(case: CachedMaker, **sizes: Any) -> Iterator[Case]:
    """Yield new tokens and caches whose memory is not contiguous.

    Mistakes: `.view` on x or on a cache, new keys written into an input cache, writes into batch
    items that share memory.
    """
    all_sizes = case.with_products({**sizes, "L": 3, "Lpast": 7})
    mixed = {"x": "transposed", "past_k": "strided", "past_v": "transposed"}
    usual: dict[str, Any] = {"Lpast": 7, "layout": mixed, "check": "properties", **sizes}
    yield case("non-contiguous inputs", chunks=(3, 2), **usual)
    name = "non-contiguous inputs, float64, without use_cache"
    yield case(name, L=5, dtype="float64", **usual)
    shared: dict[str, object] = {}
    for name, dims in (("x", case.inputs["x"]), ("past_v", case.cached("Lpast"))):
        full = shape(dims, all_sizes)
        shared[name] = case.draw.normal(1, *full[1:]).expand(full)
    usual["layout"] = dict.fromkeys(shared, "expanded")
    yield case("expanded inputs", chunks=(3,), inputs=shared, **usual)


def growth(case: CachedMaker, small: Sizes, large: Sizes) -> Iterator[Case]:
    """Yield calls in two sizes, with a cache and without, whose operations are counted.

    Mistakes: a loop over batch items, heads, new tokens or cached tokens.
    """
    calls: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "no past": ({"L": 3}, {"L": 9}),
        "a chunk and a token on a past": (
            {"chunks": (4, 1), "Lpast": 7},
            {"chunks": (10, 1), "Lpast": 13},
        ),
        "a chunk on a past, without use_cache": (
            {"L": 3, "Lpast": 7, "mode": "train"},
            {"L": 11, "Lpast": 17, "mode": "train"},
        ),
        "no past, use_cache": ({"chunks": (3,)}, {"chunks": (9,)}),
    }
    for name, (few, many) in calls.items():
        both = {**small, **few}, {**large, **many}
        yield from suites.growth(case, f"everything, {name}", *both)
    yield from suites.growth(case, "length, no past", {**small, "B": 1, "L": 5}, {"L": 300})


def work(case: CachedMaker, **sizes: Any) -> Iterator[Case]:
    """Yield single tokens on a cache, with a limit on multiplications and additions.

    Mistakes: projecting the whole sequence again, scores for more than the new token.
    """
    all_sizes = case.with_products(sizes)
    kv_heads = suites.projected(case).number_of_kv_heads(all_sizes)
    batch, heads, width = all_sizes["B"], all_sizes["H"], all_sizes["D"]
    projections = 2 * heads * width + 2 * kv_heads * width
    for past in (9, 151):
        attended = 2 * heads * width * (past + 1)
        limit = 2 * batch * (all_sizes["M"] * projections + attended)
        usual: dict[str, Any] = {"Lpast": past, "probe": "work", "limit": limit, **sizes}
        yield case(f"one new token on a past of {past}", chunks=(1,), **usual)
        yield case(f"one new token on a past of {past}, without use_cache", L=1, **usual)
