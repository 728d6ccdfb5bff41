"""The answers that need no attention: how much of each case they get right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from torch import Tensor

from attn_drill.grading.prepared_case import PreparedCase


def trivial_credits(cases: Sequence[PreparedCase]) -> Mapping[str, Sequence[float]]:
    """Return for each trivial answer the share of right outputs in each case.

    The trivial answers are zeros, ones, each input itself, and the mean of an input along one of
    its dimensions.
    """
    by_answer: dict[str, list[float]] = {}
    for index, prepared in enumerate(cases):
        for answer, right in _right_shares(prepared):
            by_answer.setdefault(answer, [0.0] * len(cases))[index] = right
    return by_answer


def _right_shares(prepared: PreparedCase) -> Iterator[tuple[str, float]]:
    """Yield the name of each trivial answer with the share of its right outputs in one case."""
    expected = prepared.expected
    count = len(expected.outputs) + len(expected.plain)
    answers: dict[str, Tensor] = {}
    for name, tensor in prepared.tensors.items():
        if tensor.is_floating_point():
            answers[name] = tensor
            for dim in range(tensor.dim()):
                answers[f"mean of {name} along {dim}"] = tensor.mean(dim, keepdim=True)
    for answer in ("zeros", "ones", *answers):
        right = 0
        for output, want in expected.outputs.items():
            value = answers.get(answer, want.value.new_full((), float(answer == "ones")))
            right += _is_within(value, want.value, expected.bounds[output])
        yield answer, right / count


def _is_within(value: Tensor, want: Tensor, bound: Tensor) -> bool:
    """Return whether a value that fills the shape of the right one is as near as a right answer."""
    if value.dim() not in (0, want.dim()) or not _fills(value.shape, want.shape):
        return False
    return bool(((value.double() - want.double()).abs() <= bound).all())


def _fills(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    return not shape or all(size in (1, want) for size, want in zip(shape, wanted, strict=True))
