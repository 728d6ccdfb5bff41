"""Helpers for tests of the case kit: trusted code on cases, plain attention, and the suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor

from attn_drill.grading._tolerance import allowed, compare_dropout, loss, lower_dtype
from attn_drill.model.case import Case
from attn_drill.worker.execution import (
    Drive,
    Given,
    build,
    gradients,
    lay_out,
    leaves,
    map_leaves,
    module_parameters,
)

Tensors = dict[str, Tensor]
Results = tuple[Tensors, Tensors]  # outputs and gradients, by name
_EXPECTED: dict[int, tuple[Case, Results, Results]] = {}  # by `id` of the case


def patched(source: str, was: str, now: str) -> str:
    """Return the source with one place replaced."""
    assert source.count(was) == 1, f"{was!r} is {source.count(was)} times in the source"
    return source.replace(was, now)


def caught_by(cases: Iterable[Case], drive: Drive, source: str, mistaken: str) -> set[str]:
    """Return the names of the cases in which a mistaken implementation is wrong."""
    return {case.name for case in cases if not is_right(case, drive, source, mistaken)}


def is_right(case: Case, drive: Drive, source: str, other: str) -> bool:
    """Return whether `other` has the same results as `source` in a case, within the tolerance."""
    if id(case) not in _EXPECTED:
        mode = "eval" if case.dropout is not None else case.mode
        _EXPECTED[id(case)] = (
            case,
            _run(case, drive, source, source, "float64", mode),
            _run(case, drive, source, source, lower_dtype(case.dtype), mode),
        )
    _, exact, lowered = _EXPECTED[id(case)]
    try:
        actual = _run(case, drive, source, other, case.dtype, case.mode)
    except (RuntimeError, TypeError, ValueError):
        return False
    for wanted, rounded, got in zip(exact, lowered, actual, strict=True):
        for name, value in wanted.items():
            if got[name].shape != value.shape or got[name].dtype != getattr(torch, case.dtype):
                return False
            # Gradients are measured against all gradients of the case.
            group = wanted if wanted is exact[1] else {name: value}
            scale = max(float(tensor.abs().max()) for tensor in group.values())
            bound = allowed(value, case.dtype, loss(value, rounded[name]), scale)
            if not _agree(case, name, value, got[name], bound):
                return False
    return True


def _agree(case: Case, name: str, value: Tensor, got: Tensor, bound: Tensor) -> bool:
    if case.dropout is None:
        return bool(((got.double() - value).abs() <= bound).all())
    dims = case.dims[name]
    return compare_dropout(dims, case.sizes, value, got, bound, case.dropout) is None


def _run(
    case: Case, drive: Drive, source: str, implementation: str, dtype: str, mode: str
) -> Results:
    """Return the outputs and the gradients of `implementation`, with the parameters of `source`."""
    target = getattr(torch, dtype)
    module = build(_namespace(implementation), "module", ["Attention"], case.init, target, mode)
    parameters = _parameters(case, source)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(parameters[name])

    def prepare(name: str, tensor: Tensor) -> Tensor:
        laid_out = lay_out(tensor, case.layout.get(name))
        if not tensor.is_floating_point():
            return laid_out
        rounded = tensor.to(getattr(torch, case.dtype)).to(target)
        return lay_out(rounded, case.layout.get(name)).requires_grad_()

    given = map_leaves(case.inputs, prepare)
    torch.manual_seed(3)
    outputs = drive(module, Given(given, case.sizes))
    wrt = {name: tensor for name, tensor in leaves(given) if tensor.requires_grad}
    wrt |= module_parameters(module)
    generator = torch.Generator().manual_seed(2)
    cotangents = {
        name: torch.randn(value.shape, generator=generator) for name, value in outputs.items()
    }
    found = gradients(outputs, cotangents, wrt)
    values = {name: value.detach() for name, value in outputs.items()}
    if not case.gradients or case.dropout is not None:
        return values, {}
    complete = {
        name: torch.zeros_like(wrt[name]) if value is None else value
        for name, value in found.items()
    }
    return values, complete


def _parameters(case: Case, source: str) -> Tensors:
    """Return the parameters of a case. Parameters that the case does not set are drawn."""
    module = build(_namespace(source), "module", ["Attention"], case.init, torch.float64, "eval")
    generator = torch.Generator().manual_seed(1)
    found: Tensors = {}
    for name, parameter in module_parameters(module).items():
        drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        value = torch.as_tensor(case.parameters.get(name, drawn * parameter.shape[-1] ** -0.5))
        found[name] = value.to(getattr(torch, case.dtype))
    return found


@cache
def _namespace(source: str) -> Mapping[str, Any]:
    scope: dict[str, Any] = {}
    exec(source, scope)
    return scope


ATTENTION = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        self.H, self.D, self.p = num_heads, d_model // num_heads, dropout
        self.groups = num_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.D, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.D, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(self.p)

    def forward(self, x, mask=None):
        B, L, M = x.shape
        H, D = self.H, self.D
        q = self.q_proj(x).view(B, L, H, D).transpose(1, 2)
        k = self.k_proj(x).view(B, L, -1, D).transpose(1, 2)
        v = self.v_proj(x).view(B, L, -1, D).transpose(1, 2)
        k = k.repeat_interleave(H // self.groups, dim=1)
        v = v.repeat_interleave(H // self.groups, dim=1)
        scores = q @ k.transpose(-2, -1) / D**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)
        heads = (weights @ v).transpose(1, 2).reshape(B, L, M)
        return self.o_proj(heads)
"""

SEPARATE = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.H, self.D = num_heads, d_model // num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        q, k, v = (part.unflatten(-1, (self.H, self.D)).transpose(1, 2) for part in (q, k, v))
        scores = q @ k.transpose(-2, -1) / self.D**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads = torch.softmax(scores, dim=-1) @ v
        return self.o_proj(heads.transpose(1, 2).flatten(2))
"""

CACHED = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        self.H, self.D, self.groups = num_heads, d_model // num_heads, num_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.D, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.D, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        B, L, M = x.shape
        q = self.q_proj(x).view(B, L, self.H, self.D).transpose(1, 2)
        k = self.k_proj(x).view(B, L, -1, self.D).transpose(1, 2)
        v = self.v_proj(x).view(B, L, -1, self.D).transpose(1, 2)
        start = 0 if past_kv is None else past_kv[0].shape[2]
        if past_kv is not None:
            k, v = (torch.cat(pair, dim=2) for pair in zip(past_kv, (k, v)))
        cache = (k, v)
        k, v = (part.repeat_interleave(self.H // self.groups, dim=1) for part in cache)
        scores = q @ k.transpose(-2, -1) / self.D**0.5
        seen = torch.arange(k.shape[2]) <= torch.arange(L)[:, None] + start
        scores = scores.masked_fill(~seen, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o_proj((weights @ v).transpose(1, 2).reshape(B, L, M))
        return (out, cache) if use_cache else out
"""

ROTARY = """
import torch
from torch import nn


def rotated(x, angles):
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        self.H, self.D, self.T, self.base = num_heads, d_model // num_heads, max_seq_len, rope_base
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, x, mask=None, position_ids=None):
        B, L, M = x.shape
        H, T = self.H, self.T
        given = position_ids is not None
        places = position_ids if given else torch.arange(L)[None]
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        q, k, v = (part.view(B, L, H, self.D).transpose(1, 2) for part in (q, k, v))
        frequencies = self.base ** -(torch.arange(0, self.D, 2).double() / self.D)
        angles = places[..., None] * frequencies
        angles = angles[:, None]
        q, k = rotated(q, angles), rotated(k, angles)
        scores = q @ k.transpose(-2, -1) / self.D**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads = torch.softmax(scores, dim=-1) @ v
        return self.o_proj(heads.transpose(1, 2).reshape(B, L, M))
"""


Patch = tuple[str, str]  # the old and the new text of a mistake

# The patch of a case that no mistake needs. A comment in the suite says why the case stays.
STAYS: Patch = ("", "")
MASK = "        if mask is not None:\n"
FILL = "scores.masked_fill(~mask, -torch.inf)"
SOFTMAX = "torch.softmax(scores, dim=-1)"


def mask_is(condition: str, change: str) -> Patch:
    """Return a patch that changes the masks for which a condition holds."""
    return MASK, f"{MASK}            if {condition}:\n                mask = {change}\n"


def with_maximum(branch: str, maximum: str) -> Patch:
    """Return a patch that subtracts `maximum` instead of the largest score of a row."""
    return (
        f"        weights = {SOFTMAX}\n",
        f"        weights = {SOFTMAX}\n        if {branch}:\n"
        f"            exp = (scores - {maximum}).exp()\n"
        "            weights = exp / exp.sum(dim=-1, keepdim=True)\n",
    )


def drive(attention: Any, given: Any) -> dict[str, Any]:
    """Call an implementation once, or twice if the case has a second call."""
    first = {name: value for name, value in given.inputs.items() if name[:6] != "later_"}
    later = {name[6:]: value for name, value in given.inputs.items() if name[:6] == "later_"}
    outputs = {"out": attention(**resolved(first))}
    if later:
        outputs["later_out"] = attention(**resolved(later))
    return outputs


def resolved(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return inputs with tensors in place of the names of other inputs."""
    return {
        name: inputs[value] if isinstance(value, str) else value for name, value in inputs.items()
    }


SIZES = {"B": 3, "L": 5, "H": 6, "Hkv": 2, "D": 4}
THREE = {"B": 3, "Lq": 6, "Lk": 6, "H": 2, "D": 5, "equal": "Lq Lk"}
TABLE: dict[str, tuple[dict[str, Any], dict[str, Patch]]] = {
    "heads_apart": (SIZES, {"heads apart (o_proj is the identity)": STAYS}),
    "masks": (
        SIZES,
        {
            "causal mask [Lq, Lk]": STAYS,
            "causal band [Lq, Lk]": mask_is(
                "mask.dim() == 2 and len(mask) == L", "torch.ones_like(mask).tril()"
            ),
            "padding mask, right [B, 1, 1, Lk]": mask_is(
                "mask.shape == (B, 1, 1, L)",
                "torch.arange(L) >= L - mask.sum(dim=-1, keepdim=True)",
            ),
            "padding mask, left [B, 1, 1, Lk]": mask_is(
                "mask.shape == (B, 1, 1, L)", "torch.arange(L) < mask.sum(dim=-1, keepdim=True)"
            ),
            "mask with holes [1, 1, Lq, Lk]": mask_is(
                "mask.shape == (1, 1, L, L)", "torch.ones_like(mask).tril()"
            ),
            "one row for all queries [1, Lk]": mask_is("mask.dim() == 2", "mask.view(L, L)"),
            "causal and padding [B, 1, Lq, Lk]": mask_is(
                "mask.dim() == 4 and mask.shape[:2] == (B, 1)", "mask[:, :, -1:]"
            ),
            "one mask per head [1, H, 1, Lk]": mask_is(
                "mask.dim() == 4 and mask.shape[1] == H", "mask.view(B, H, -1, L)"
            ),
            "one row for everything [1, 1, 1, Lk]": mask_is(
                "mask.dim() == 4 and mask.shape[1:3] == (1, 1)", "mask.view(B, 1, 1, L)"
            ),
            "one row per sequence and head [B, H, 1, Lk]": mask_is(
                "mask.dim() == 4 and mask.shape[:2] == (B, H)", "mask.view(B, H, L, L)"
            ),
            "full mask [B, H, Lq, Lk]": mask_is(
                "mask.dim() == 4 and mask.shape[1] == H", "mask[:, :, :1]"
            ),
        },
    ),
    "zero_tokens": (
        SIZES,
        {
            "tokens of zeros": (
                MASK,
                "        if mask is None:\n"
                f"            scores = scores.masked_fill(scores == 0, -torch.inf)\n{MASK}",
            ),
            "tokens of zeros, causal": (
                FILL,
                "(scores * mask).masked_fill(scores * mask == 0, -torch.inf)",
            ),
        },
    ),
    "steep_scores": (
        SIZES,
        {
            # The gradient of where(mask, exp(x), 0) is NaN if exp(x) overflows.
            "masked scores of +120 next to ordinary scores": (
                f"            scores = {FILL}\n        weights = {SOFTMAX}",
                f"            top = {FILL}.amax(-1, True).detach()\n"
                "            weights = torch.where(mask, (scores - top).exp(), 0)\n"
                "            weights = weights / weights.sum(dim=-1, keepdim=True)\n"
                f"        else:\n            weights = {SOFTMAX}",
            ),
            "masked scores of +200 with values of 1e36, others at -200": (
                FILL,
                "scores.masked_fill(~mask, -300)",
            ),
            "a row of scores near -200, the next near +200": STAYS,
            "scores falling from 200, no mask": with_maximum(
                "mask is None", "scores.mean(dim=-1, keepdim=True)"
            ),
            "scores falling in one head and sequence, rising in the next": with_maximum(
                "mask is not None", "scores.amax(dim=1, keepdim=True).amax(-1, True)"
            ),
            "alternating rows of scores 400 apart, no mask": with_maximum(
                "mask is None", "scores.amax(dim=(-2, -1), keepdim=True)"
            ),
        },
    ),
    "dtypes": (
        SIZES,
        {
            "float64, no mask": (
                MASK,
                "        if mask is None:\n"
                f"            scores = scores.bfloat16().to(x.dtype)\n{MASK}",
            ),
            "bfloat16, no mask": (
                MASK,
                f"        if mask is None:\n            scores = scores + torch.zeros(1)\n{MASK}",
            ),
            "float64, causal, one batch item": (FILL, f"{FILL}.bfloat16().to(x.dtype)"),
            "bfloat16, padding": (FILL, f"{FILL} + torch.zeros(1)"),
        },
    ),
    "tiny_values": (
        SIZES,
        {"tiny values": ("return self.o_proj(heads)", "return self.o_proj(heads) + 1e-6")},
    ),
    "dropout": (
        {**SIZES, "Hkv": 3, "B": 2},
        {
            "eval mode, dropout 0.4": (
                "self.dropout(weights)",
                "nn.functional.dropout(weights, self.p)",
            ),
            "training mode, dropout 0, causal": (
                "if mask is not None:",
                "if mask is not None and (self.p or not self.training):",
            ),
            "training mode, dropout 0, no mask": STAYS,
            "training mode, dropout 1e-9, no mask": (
                MASK,
                "        if mask is None and self.training and self.p:\n"
                f"            scores = scores.detach()\n{MASK}",
            ),
            "training mode, dropout 1e-9, causal": (
                FILL,
                f"({FILL}.detach() if self.training and self.p else {FILL})",
            ),
            "training mode, dropout 0.4, values and o_proj zero": STAYS,
            "bfloat16, training mode, dropout 0.4, values and o_proj zero": (
                "weights = self.dropout(weights)",
                "weights = weights * self.dropout(torch.ones(weights.shape, dtype=None "
                "if x.dtype == torch.bfloat16 else x.dtype)) if self.training else weights",
            ),
            "training mode, dropout 0.3, one key masked, weights as output": (
                "        weights = self.dropout(weights)\n",
                "        weights = self.dropout(weights)\n        if mask is not None:\n"
                "            weights = weights / weights.sum(dim=-1, keepdim=True)\n",
            ),
            "training mode, dropout 0.6, weights as output": (
                "nn.Dropout(self.p)",
                "nn.Dropout(min(self.p, 0.4))",
            ),
        },
    ),
    "layouts": (
        SIZES,
        {
            "non-contiguous inputs": mask_is(
                "mask.dim() == 4", "mask.view(B, H * L, L).view(B, H, L, L)"
            ),
            "parts of larger inputs": mask_is("mask.dim() == 2", "mask.view(-1).view(L, L)"),
            "expanded inputs": (
                "self.q_proj(x)",
                "self.q_proj(x.view(B * L, M) if x.stride(1) == M else x)",
            ),
        },
    ),
    "second_calls": (
        SIZES,
        {
            "the same sizes again with another mask": (
                FILL,
                FILL.replace("~mask", '~self.__dict__.setdefault("kept", mask)'),
            ),
            "the same sizes again, now without a mask": (
                MASK,
                '        mask = self.kept = self.__dict__.get("kept") if mask is None else mask\n'
                f"{MASK}",
            ),
            "larger sizes afterwards, now with a mask": (
                "H, D = self.H, self.D",
                'H, D, L = self.H, self.D, self.__dict__.setdefault("length", L)',
            ),
        },
    ),
    "one_tensor": (
        THREE,
        {
            f"one tensor for {words}": (
                "        scores = q",
                f"        if {condition}:\n            v = self.v_proj(value * 2)"
                ".unflatten(-1, (self.H, self.D)).transpose(1, 2)\n        scores = q",
            )
            for words, condition in (
                ("query and key", "query is key is not value"),
                ("query and value", "query is value is not key"),
                ("key and value", "key is value is not query"),
                ("query, key and value", "query is key is value"),
            )
        },
    ),
}
