"""Compute the parameters of the projections and the bytes of the KV cache of attention variants.

M is d_model, H num_heads, G num_kv_heads, D head_dim, S seq_len, B batch, N num_layers, and E the
bytes of a number. For MLA also Rq is q_rank, R kv_rank, Dr rope_dim.

    MHA, GQA, MQA   parameters  N (2 M H D + 2 M G D)
                    cache       B S N 2 G D E
    MLA             parameters  N (query + M (R + Dr) + R H 2 D + H D M)
                    cache       B S N (R + Dr) E
                    query       M H (D + Dr), or M Rq + Rq H (D + Dr) as a low-rank pair

MHA has G = H, and MQA has G = 1. Biases and norms are not counted.

Sources: Shazeer 2019, "Fast Transformer Decoding" (MQA); Ainslie et al. 2023, "GQA"; DeepSeek-AI
2024, "DeepSeek-V2" (MLA; the widths per head of the part without positions and of the values are
taken to be D).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from attn_drill.model.errors import DrillError

ELEMENT_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}
GREATEST_SIZE = 10**9
USUAL_KV_HEADS = (8, 4)  # the rows of GQA if num_kv_heads is not set


@dataclass(frozen=True)
class Configuration:
    """The sizes of a model. Their names are the keys of `compare --set`."""

    d_model: int
    num_heads: int
    num_kv_heads: int | None  # of GQA; None for a row for each of `USUAL_KV_HEADS`
    head_dim: int
    seq_len: int  # tokens in the cache
    batch: int
    num_layers: int
    dtype: str  # of weights and cache
    kv_rank: int  # the width of MLA's latent
    rope_dim: int  # the width of MLA's rotary key
    q_rank: int | None  # the rank of MLA's query; None if it has no low-rank pair


@dataclass(frozen=True)
class Preset:
    """A published model. Its dtype is that of a KV cache that is not quantised."""

    name: str
    variant: str  # of attention, in words
    settings: str  # as for `compare --set`


@dataclass(frozen=True)
class Cost:
    """The cost of one attention variant, over all layers."""

    variant: str
    num_kv_heads: int | None  # None for MLA, whose cache has no heads
    parameters: int
    cache_bytes: int
    bytes_per_token: int  # of the cache, for one token of one sequence
    cache_percent: float  # of MHA's cache


_DENSE = "dtype=bfloat16,d_model=4096,num_heads=32,num_layers=32"
PRESETS = (
    Preset("Llama-2-7B", "MHA", f"{_DENSE},dtype=float16"),
    Preset("Llama-3-8B", "GQA with 8 KV heads", f"{_DENSE},num_kv_heads=8"),
    Preset(
        "Llama-3-70B",
        "GQA with 8 KV heads",
        "dtype=bfloat16,d_model=8192,num_heads=64,num_layers=80,num_kv_heads=8",
    ),
    Preset("Mistral-7B", "GQA with 8 KV heads", f"{_DENSE},num_kv_heads=8"),
    Preset(
        "DeepSeek-V3",
        "MLA",
        "dtype=bfloat16,d_model=7168,num_heads=128,num_layers=61,head_dim=128,kv_rank=512,"
        "rope_dim=64,q_rank=1536",
    ),
)
_DEFAULTS = "d_model=4096,num_heads=32,seq_len=2048,batch=1,num_layers=1,dtype=float32"
_NAMES = tuple(field.name for field in fields(Configuration))


def find_preset(name: str) -> Preset:
    """Return a published model. Ignore the case of letters."""
    for preset in PRESETS:
        if preset.name.lower() == name.lower():
            return preset
    names = ", ".join(preset.name for preset in PRESETS)
    raise DrillError(f"There is no preset {name!r}. There are: {names}.")


def configure(preset: Preset | None = None, settings: Iterable[str] = ()) -> Configuration:
    """Return the defaults, changed by a preset and by settings like `d_model=4096,dtype=int8`."""
    sizes: dict[str, Any] = {"num_kv_heads": None, "q_rank": None}
    published = [preset.settings] if preset else []
    for texts in (_DEFAULTS, *published, *settings):
        sizes.update(_setting(text) for text in texts.split(","))
    d_model, num_heads, num_kv_heads = sizes["d_model"], sizes["num_heads"], sizes["num_kv_heads"]
    if "head_dim" not in sizes and d_model % num_heads != 0:
        fits = d_model // num_heads * num_heads or num_heads
        raise DrillError(
            f"d_model {d_model} is not divisible by num_heads {num_heads}. "
            f"Set d_model={fits}, another num_heads, or a head_dim."
        )
    if num_kv_heads is not None and num_heads % num_kv_heads != 0:
        raise DrillError(
            f"num_heads {num_heads} is not divisible by num_kv_heads {num_kv_heads}. "
            "Set num_kv_heads to a divisor of num_heads."
        )
    # As in DeepSeek-V2.
    sizes.setdefault("head_dim", d_model // num_heads)
    sizes.setdefault("kv_rank", 4 * sizes["head_dim"])
    sizes.setdefault("rope_dim", sizes["head_dim"] // 2)
    return Configuration(**sizes)


def _setting(text: str) -> tuple[str, int | str]:
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in _NAMES:
        raise DrillError(
            f"--set is {text!r}; it must be NAME=VALUE with one of the names {', '.join(_NAMES)}."
        )
    if name == "dtype":
        if value not in ELEMENT_BYTES:
            raise DrillError(f"dtype is {value!r}; it must be one of {', '.join(ELEMENT_BYTES)}.")
        return name, value
    if not value.isdecimal() or not 1 <= int(value) <= GREATEST_SIZE:
        raise DrillError(f"{name} is {value!r}; it must be 1 to {GREATEST_SIZE:,}.")
    return name, int(value)


def costs(sizes: Configuration) -> list[Cost]:
    """Return the costs of MHA, GQA, MQA and MLA, in this order."""
    num_heads, d_model, width = sizes.num_heads, sizes.d_model, sizes.num_heads * sizes.head_dim
    kv_heads = [count for count in USUAL_KV_HEADS if num_heads % count == 0 and count < num_heads]
    if sizes.num_kv_heads is not None:
        kv_heads = [sizes.num_kv_heads]
    # Of each variant: parameters of a layer, and the numbers that it caches for one token.
    rows: list[tuple[str, int | None, int, int]] = []
    for variant, count in (("MHA", num_heads), *(("GQA", count) for count in kv_heads), ("MQA", 1)):
        kv_width = count * sizes.head_dim
        rows.append((variant, count, 2 * d_model * (width + kv_width), 2 * kv_width))
    query_width = width + num_heads * sizes.rope_dim
    query = d_model * query_width
    if sizes.q_rank is not None:
        query = d_model * sizes.q_rank + sizes.q_rank * query_width
    cached = sizes.kv_rank + sizes.rope_dim  # all heads share one rotary key
    latent = d_model * cached + sizes.kv_rank * 2 * width
    rows.append(("MLA", None, query + latent + width * d_model, cached))
    costs_of_rows: list[Cost] = []
    for name, heads, parameters, numbers in rows:
        token_bytes = numbers * sizes.num_layers * ELEMENT_BYTES[sizes.dtype]
        cache_bytes = sizes.batch * sizes.seq_len * token_bytes
        percent = 100 * numbers / (2 * width)  # MHA caches a key and a value for each head
        parameters *= sizes.num_layers
        costs_of_rows.append(Cost(name, heads, parameters, cache_bytes, token_bytes, percent))
    return costs_of_rows
