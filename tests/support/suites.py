"""The tables of suites and mistakes, for tests of the case kit."""

from __future__ import annotations

from typing import Any

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
