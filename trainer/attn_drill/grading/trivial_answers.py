"""The answers that need no attention: how much of each case they get right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from attn_drill.grading.prepared_case import PreparedCase


def trivial_credits(cases: Sequence[PreparedCase]) -> Mapping[str, Sequence[float]]:
    """Return the share of right outputs in each case for zeros, ones, each input, and its means."""
    by_answer: dict[str, list[float]] = {}
    for index, prepared in enumerate(cases):
        expected = prepared.expected
        count = len(expected.outputs) + len(expected.plain)
        answers: dict[str, Tensor | float] = {"zeros": 0.0, "ones": 1.0}
        for name, tensor in prepared.tensors.items():
            if tensor.is_floating_point():
                answers[name] = tensor
                for dim in range(tensor.dim()):
                    answers[f"mean of {name} along {dim}"] = tensor.mean(dim, keepdim=True)
        for answer, value in answers.items():
            right = 0
            for output, want in expected.outputs.items():
                right += _is_within(value, want.value, expected.bounds[output])
            by_answer.setdefault(answer, [0.0] * len(cases))[index] = right / count
    return by_answer


def _is_within(value: Tensor | float, want: Tensor, bound: Tensor) -> bool:
    """Return whether a value that fills the shape of the right one is as near as a right answer."""
    if isinstance(value, Tensor):
        sizes = zip(value.shape, want.shape, strict=False)
        if value.dim() and value.dim() != want.dim():
            return False
        if not all(size in (1, wanted) for size, wanted in sizes):
            return False
        value = value.double()
    return bool(((value - want.double()).abs() <= bound).all())
