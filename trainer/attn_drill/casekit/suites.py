"""Suites of hard cases that many challenges share.

Every suite takes a `CaseMaker` and the sizes of its cases, and yields cases:
`suites.masks(case, B=3, L=5, H=2, D=4)`. Next to the sizes, a suite accepts other arguments of a
case, for example `equal`. They apply to all cases of the suite.

The docstring of a suite names the mistakes that its cases catch. If no mistake is caught by a case
alone, a comment says why the case stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import torch

from attn_drill.casekit._maker import CaseMaker, Roles, Scores, SecondCall, ragged, shape
from attn_drill.casekit._roles import Projected
from attn_drill.model.case import Case
from attn_drill.model.errors import PackError


def heads_apart(
    case: CaseMaker, name: str = "heads apart (o_proj is the identity)", **sizes: Any
) -> Iterator[Case]:
    """Yield a case with an identity as output projection: the output is the joined heads.

    This case exists for the report, which can then name heads and features. No mistake is caught by
    this case alone.
    """
    parts = projected(case).heads_apart(case, case.with_products(sizes))
    yield case(name, **parts, **sizes)


def masks(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield one case for every shape of mask that the contract allows.

    Mistakes: a mask aligned by size instead of from the right; `mask.squeeze()`; a
    mask that works only with two or only with four dims; a mask that is not expanded over batch or
    heads; a causal mask or padding applied for every mask.
    """
    axes = case.mask_axes
    if not axes.heads:
        yield from _masks_without_heads(case, **sizes)
        return
    lengths = [1 if letter == "1" else sizes[letter] for letter in case.mask.split()]
    equal = f"{sizes.get('equal', '')}, {axes.batch} {axes.queries}"
    square = {**sizes, axes.batch: sizes[axes.queries], "equal": equal}
    for name, mask in case.draw.masks(*lengths).items():
        # The first axis of these two masks is not the batch, but as long. Both cases have the same
        # sizes, and the same masks in both calls of the grader, so the diagnosis can find a mask
        # that is kept from an earlier case.
        is_square = name in ("causal mask [Lq, Lk]", "causal band [Lq, Lk]")
        yield case(name, mask=mask, **(square if is_square else sizes))


def _masks_without_heads(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield masks [B, Lk] or, if masks have an axis for queries, [B, 1, Lk] and [B, Lq, Lk].

    Mistakes: a mask aligned from the right; a mask that is reduced to lengths or to a causal mask;
    a mask that works only with one row per query.
    """
    axes, shared = case.mask_axes, case.shared_mask
    all_sizes = case.with_products(sizes)
    batch, keys = all_sizes[axes.batch], all_sizes[axes.keys]
    words = f"[{shared.replace(' ', ', ')}]"
    for side in ("right", "left"):
        real = ragged(case.draw, batch, keys, side).reshape(shape(shared, all_sizes))
        yield case(f"padding on the {side} {words}", mask=real, **sizes)
    yield case(f"mask with holes {words}", mask=shared, **sizes)
    if axes.queries:
        both = (
            case.draw.causal(all_sizes[axes.queries], keys)
            & ragged(case.draw, batch, keys)[:, None]
        )
        both[..., 0] = True  # every row needs at least one key
        words = f"[{case.mask.replace(' ', ', ')}]"
        yield case(f"causal and padding {words}", mask=both, **sizes)
        yield case(f"mask with holes {words}", mask=case.mask, **sizes)


def zero_tokens(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield cases in which every input has a token of zeros, without biases.

    Mistakes: a score of 0 taken for a masked score, `scores * mask` followed by a fill of all
    zeros, a division by the norm of a token.
    """
    more = _roles(case).without_biases()
    all_sizes = case.with_products(sizes)
    for mask in (None, case.usual_mask) if case.mask else (None,):
        inputs: dict[str, object] = {}
        for row, (name, dims) in enumerate(case.inputs.items(), start=1):
            inputs[name] = case.draw.normal_with_zeros(*shape(dims, all_sizes), row=row)
        words = f", {mask}" if mask else ""
        yield case(f"tokens of zeros{words}", mask=mask, inputs=inputs, **more, **sizes)


def steep_scores(case: CaseMaker, gradients: bool = False, **sizes: Any) -> Iterator[Case]:
    """Yield scores of ±200, with masks and without.

    Mistakes: `exp` without subtracting the largest score; a largest score taken over more than one
    row or before the mask; a fill that is not far enough below -200 (-100, -300); a fill before the
    scale; scores that are clamped; masked values that are added with weights of nearly 0.

    Args:
        gradients: whether to compare gradients if visible scores are large. Leave this off if the
            scores come from projections, which magnify the rounding of right answers by 200.
    """
    roles = _roles(case)
    axes = case.mask_axes
    all_sizes = case.with_products(sizes)
    batch, keys = all_sizes[axes.batch], all_sizes[axes.keys]
    first_output = next(iter(case.outputs.values()))
    lengths = [all_sizes[letter] for letter in first_output.split() if letter.startswith("L")]
    queries = lengths[0] if lengths else 1
    full = shape(case.mask, all_sizes)
    rows = full[-2:] if axes.heads else full
    low = torch.arange(keys) % 2 == 0
    apart = torch.where(low, -200.0, 200.0)
    everywhere = low.expand(rows)
    alternating = torch.stack([low, ~low] * rows[-2])[: rows[-2]].expand(rows)
    falling = torch.linspace(200, -200, keys)
    if gradients:  # several keys share the largest score; with one key, gradients would be 0
        falling = 200 * torch.cat([torch.ones(keys - 3), torch.tensor([0.3, -0.4, -1.0])])
    signs_of_sequences = (-1.0) ** torch.arange(batch)[:, None]
    signs_of_queries = (-1.0) ** torch.arange(queries)
    signs = signs_of_sequences * signs_of_queries

    def scored(name: str, scores: Scores, mask: torch.Tensor | None) -> Case:
        compared = gradients or scores.factored
        parts = roles.scored(case, all_sizes, scores)
        parts["inputs"] |= case.at_one_position(all_sizes)
        return case(name, mask=mask, gradients=compared, **parts, **sizes)

    ordinary = Scores(torch.where(low, 0.0, 120.0), factored=True)
    yield scored("masked scores of +120 next to ordinary scores", ordinary, everywhere)
    hidden = Scores(apart, huge=~low)
    yield scored("masked scores of +200 with values of 1e36, others at -200", hidden, everywhere)
    # Stays: this case separates a maximum over all rows from a maximum over heads or sequences.
    name = "a row of scores near -200, the next near +200"
    yield scored(name, Scores(apart), alternating)
    yield scored("scores falling from 200, no mask", Scores(falling), None)
    name = "scores falling in one head and sequence, rising in the next"
    if axes.queries:
        each_way = Scores(falling * signs_of_sequences, alternating=True)
        yield scored(name, each_way, case.make_mask("causal", all_sizes))
    else:
        # Only the first keys are visible: falling and rising scores differ most there.
        beginning = (torch.arange(keys) < 2).expand(rows)
        each_way = Scores(falling * signs_of_sequences, queries=signs_of_queries, alternating=True)
        yield scored(name, each_way, beginning)
    rows_apart = Scores(torch.full((keys,), 200.0), queries=signs, alternating=True)
    yield scored("alternating rows of scores 400 apart, no mask", rows_apart, None)


def dtypes(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield cases in float64 and bfloat16, with and without a mask.

    Mistakes: `.float()` or float32 constants that change the dtype of the output; a mask or zeros
    made in float32; a fill value that the dtype cannot hold; results that are right only for the
    first batch item.
    """
    yield case("float64, no mask", dtype="float64", **sizes)
    yield case("bfloat16, no mask", dtype="bfloat16", **sizes)
    if case.mask:
        single = {**sizes, case.mask.split()[0]: 1}
        name = f"float64, {case.usual_mask}, one batch item"
        yield case(name, mask=case.usual_mask, dtype="float64", **single)
        yield case("bfloat16, padding", mask="padding", dtype="bfloat16", **sizes)


def tiny_values(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield a case with values of about 1e-7.

    Mistakes: an output of zeros, an epsilon that is added to the output or to a denominator.
    """
    parts = _roles(case).tiny(case, case.with_products(sizes))
    yield case("tiny values", **parts, **sizes)


def dropout(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield cases with dropout, which acts in training mode on the attention weights.

    Mistakes: dropout in eval mode; no dropout in training mode; a fixed probability; dropout on
    scores, values or outputs; kept weights that are not divided by 1 - p; one draw for all heads or
    rows; a mask that is ignored in training mode; a backward pass that fails.
    """
    roles, axes = projected(case), case.mask_axes
    all_sizes = case.with_products(sizes)

    def trained(name: str, p: float, mode: str = "train", **more: Any) -> Case:
        init = {"dropout": p} if p else {}
        return case(name, init=init, check="train/eval", **{**sizes, "mode": mode, **more})

    yield trained("eval mode, dropout 0.4", 0.4, mode="eval")
    yield trained("training mode, dropout 0, causal", 0, mask="causal")
    # Stays: this case separates a mistake in training mode from a mistake with a mask there.
    yield trained("training mode, dropout 0, no mask", 0)
    # This probability drops nothing: results and gradients are the same as in eval mode.
    yield trained("training mode, dropout 1e-9, no mask", 1e-9)
    yield trained("training mode, dropout 1e-9, causal", 1e-9, mask="causal")
    # The backward pass must run when weights are dropped. The float32 case stays for the report:
    # only the backward pass can be wrong in this case.
    for words, dtype in (("", "float32"), ("bfloat16, ", "bfloat16")):
        name = f"{words}training mode, dropout 0.4, values and o_proj zero"
        yield trained(name, 0.4, dtype=dtype, **roles.zero_values(case, all_sizes))
    keys = 7
    wide = {**sizes, axes.queries: 5, axes.keys: keys, "D": 2 * keys}
    # The mask hides the same key in all rows and heads, so only dropout can make them differ.
    one_hidden = torch.arange(keys)[None, :] != 2
    for words, p, mask in (("one key masked, ", 0.3, one_hidden), ("", 0.6, None)):
        as_output = roles.weights_as_output(case, case.with_products(wide))
        name = f"training mode, dropout {p}, {words}weights as output"
        yield trained(name, p, mask=mask, dropout=p, **(wide | as_output))


def layouts(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield inputs whose memory is not contiguous.

    Mistakes: `.view` on an input or a mask, `as_strided`, results written into an input, writes
    into batch items that share memory.
    """
    all_sizes = case.with_products(sizes)
    shared = case.shared(all_sizes)
    expanded = dict.fromkeys(shared, "expanded")
    one_mask = None
    if case.mask:
        full = shape(case.mask, all_sizes)
        one_mask = case.draw.keep(1, *full[1:]).expand(full)
        expanded["mask"] = "expanded"
    usual: dict[str, Any] = {"check": "properties", **sizes}
    yield case("non-contiguous inputs", mask=case.mask or None, layout="transposed", **usual)
    yield case("parts of larger inputs", mask=case.shared_mask or None, layout="strided", **usual)
    yield case("expanded inputs", mask=one_mask, inputs=shared, layout=expanded, **usual)


def second_calls(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield two calls on one object.

    Mistakes: a mask that is kept from the first call or stored by its shape; a table or a causal
    mask that keeps the length of the first input; an object that changes in a call.
    """
    axes = case.mask_axes
    rows = case.shared_mask
    longer = {axes.batch: sizes[axes.batch] + 3, axes.keys: sizes[axes.keys] + 4}
    if axes.queries:
        longer[axes.queries] = sizes[axes.queries] + 4
    for name, mask, later in (
        ("the same sizes again with another mask", rows, SecondCall(mask=rows)),
        ("the same sizes again, now without a mask", rows, SecondCall()),
        ("larger sizes afterwards, now with a mask", None, SecondCall(mask=rows, sizes=longer)),
    ):
        yield case(name, mask=mask, later=later, check="properties", **sizes)


def one_tensor(case: CaseMaker, **sizes: Any) -> Iterator[Case]:
    """Yield calls in which several inputs are the same tensor. All inputs must have one shape.

    Mistakes: a test for self-attention with `is` that takes the wrong branch; projections of one
    input for all; an input that is changed in place although another argument is the same tensor.
    """
    names = list(case.inputs)
    together = [*combinations(names, 2), tuple(names)] if len(names) > 2 else [tuple(names)]
    for first, *others in together:
        words = f"{', '.join([first, *others[:-1]])} and {others[-1]}"
        inputs = dict.fromkeys(others, first)
        yield case(f"one tensor for {words}", inputs=inputs, **sizes)


def growth(
    case: CaseMaker, name: str, small: Mapping[str, Any], large: Mapping[str, Any], **more: Any
) -> Iterator[Case]:
    """Yield one case in two sizes. The number of operations must not grow with the sizes.

    `name` has the growing sizes in words, for example "everything" or "length". `large` has only
    the sizes that differ from `small`.

    Mistakes: a loop over batch items, heads, queries or keys.
    """
    more["probe"] = "vectorised"
    larger = case(f"growing {name}, large", **more, **{**small, **large})
    yield replace(case(f"growing {name}, small", **more, **small), larger=larger)


def _roles(case: CaseMaker) -> Roles:
    if case.roles is None:
        raise PackError(
            "This suite designs queries, keys and values. Give the CaseMaker `roles`: Direct(), "
            "Projected() or your own object with the same methods."
        )
    return case.roles


def projected(case: CaseMaker) -> Projected:
    """Return the roles of a challenge with linear projections, or raise PackError."""
    roles = _roles(case)
    if not isinstance(roles, Projected):
        raise PackError(
            "This suite needs linear projections: give the CaseMaker `roles=Projected()`."
        )
    return roles
