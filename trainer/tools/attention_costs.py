"""What the variants of attention cost for one configuration: parameters of the projections, bytes of the KV cache. Arithmetic only.

M d_model, H query heads, G key/value heads, D head_dim, S tokens, B batch, N layers, E bytes an element; of MLA also Rq q_rank, R kv_rank, Dr rope_dim:

    MHA, GQA, MQA   parameters  N (2 M H D + 2 M G D)                                     cache  2 B S N G D E
    MLA             parameters  N (query + M (R + Dr) + R H 2 D + H D M)                  cache  B S N (R + Dr) E
                    query       M H (D + Dr), or M Rq + Rq H (D + Dr) as a low-rank pair

MHA has G = H, MQA G = 1. No biases and no norms are counted. Shazeer 2019, "Fast Transformer Decoding" (MQA); Ainslie et al. 2023, "GQA";
DeepSeek-AI 2024, "DeepSeek-V2" (MLA; its no-position and value widths a head are taken to be D).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass

from trainer.model.errors import DrillError

ELEMENT_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}
MEASURABLE = ("float64", "float32", "bfloat16", "float16")
USUAL_DTYPE = "float32"
MOST = 10**9
MOST_MEASURED_BYTES = 4 << 30
USUAL_KV_HEADS = (8, 4)


@dataclass(frozen=True)
class Configuration:
    """The sizes of one model; `num_kv_heads` is None where none is given, `q_rank` where MLA's query has no low-rank pair."""

    d_model: int
    num_heads: int
    num_kv_heads: int | None
    head_dim: int
    seq_len: int
    batch: int
    num_layers: int
    dtype: str
    kv_rank: int
    rope_dim: int
    q_rank: int | None


@dataclass(frozen=True)
class Preset:
    """A published model: its variant of attention, its sizes and the dtype of its weights and cache.

    sizes  by the names of `configure`'s arguments
    dtype  `torch_dtype` of the published configuration; a KV cache is kept in it unless it is
           quantised. Of DeepSeek-V3, whose weights are published in float8, it is bfloat16 as well.
    """

    name: str
    variant: str
    dtype: str
    sizes: dict[str, int]


@dataclass(frozen=True)
class Cost:
    """One variant's cost: parameters and cache bytes of all layers, the cache also a token of one sequence and in percent of MHA's.

    `num_kv_heads` is None for MLA, whose cache has no heads.
    """

    variant: str
    num_kv_heads: int | None
    parameters: int
    cache_bytes: int
    bytes_per_token: int
    cache_percent: float


PRESETS = (
    Preset(
        "Llama-2-7B",
        "MHA",
        "float16",
        {"num_layers": 32, "num_heads": 32, "head_dim": 128, "d_model": 4096},
    ),
    Preset(
        "Llama-3-8B",
        "GQA",
        "bfloat16",
        {"num_layers": 32, "num_heads": 32, "num_kv_heads": 8, "head_dim": 128, "d_model": 4096},
    ),
    Preset(
        "Llama-3-70B",
        "GQA",
        "bfloat16",
        {"num_layers": 80, "num_heads": 64, "num_kv_heads": 8, "head_dim": 128, "d_model": 8192},
    ),
    Preset(
        "Mistral-7B",
        "GQA",
        "bfloat16",
        {"num_layers": 32, "num_heads": 32, "num_kv_heads": 8, "head_dim": 128, "d_model": 4096},
    ),
    Preset(
        "DeepSeek-V3",
        "MLA",
        "bfloat16",
        {
            "num_layers": 61,
            "num_heads": 128,
            "head_dim": 128,
            "d_model": 7168,
            "kv_rank": 512,
            "rope_dim": 64,
            "q_rank": 1536,
        },
    ),
)
DEFAULTS = {"d_model": 4096, "num_heads": 32, "seq_len": 2048, "batch": 1, "num_layers": 1}

# The size's name here, and the option that gives it.
OPTIONS = {
    "d_model": "--d-model",
    "num_heads": "--heads",
    "num_kv_heads": "--kv-heads",
    "head_dim": "--head-dim",
    "seq_len": "--seq-len",
    "batch": "--batch",
    "num_layers": "--layers",
    "kv_rank": "--kv-rank",
    "rope_dim": "--rope-dim",
    "q_rank": "--q-rank",
}


def find_preset(wanted: str) -> Preset:
    """The published model of this name, whatever the case of its letters.

    Raises:
        DrillError: naming the nearest.
    """
    return next(
        one
        for one in PRESETS
        if one.name == _known("preset", wanted, [preset.name for preset in PRESETS])
    )


def configure(
    preset: Preset | None = None, dtype: str | None = None, **given: int | None
) -> Configuration:
    """The configuration that the given sizes (by the names of `OPTIONS`), else the preset's, else the defaults make.

    The dtype is the given one, else the preset's, else float32.

    head_dim is d_model / num_heads, kv_rank 4 head_dim and rope_dim head_dim // 2 (as DeepSeek-V2 has them) where nothing says otherwise.

    Raises:
        DrillError: a size is below 1 or absurdly large, one does not divide by the other, or there is no such dtype.
    """
    wanted = {name: size for name, size in given.items() if size is not None}
    for name, size in wanted.items():
        _check_size(OPTIONS[name], size)
    sizes = {**DEFAULTS, **(preset.sizes if preset else {}), **wanted}
    d_model, num_heads, num_kv_heads = (
        sizes["d_model"],
        sizes["num_heads"],
        sizes.get("num_kv_heads"),
    )
    if (
        preset is not None
        and "head_dim" not in wanted
        and sizes["head_dim"] * preset.sizes["num_heads"] == preset.sizes["d_model"]
    ):
        del sizes[
            "head_dim"
        ]  # the published one is d_model / num_heads, and follows where these are given anew
    if "head_dim" not in sizes and d_model % num_heads != 0:
        raise DrillError(_indivisible_model(d_model, num_heads))
    if num_kv_heads is not None and num_heads % num_kv_heads != 0:
        fits = ", ".join(str(one) for one in _divisors(num_heads, 8))
        raise DrillError(
            f"--heads {num_heads} is not divisible by --kv-heads {num_kv_heads}. These fit: {fits}."
        )
    head_dim = sizes.get("head_dim", d_model // num_heads)
    usual = preset.dtype if preset else USUAL_DTYPE
    return Configuration(
        d_model=d_model,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        seq_len=sizes["seq_len"],
        batch=sizes["batch"],
        num_layers=sizes["num_layers"],
        dtype=_known("dtype", dtype, ELEMENT_BYTES) if dtype is not None else usual,
        kv_rank=sizes.get("kv_rank", 4 * head_dim),
        rope_dim=sizes.get("rope_dim", head_dim // 2),
        q_rank=sizes.get("q_rank"),
    )


def costs(configuration: Configuration) -> list[Cost]:
    """MHA, GQA, MQA and MLA of one configuration, in this order.

    GQA has the given number of KV heads; where none is given 8 and 4, as far as they divide the heads and are neither all of them nor one.
    """
    one = configuration
    tokens = one.batch * one.seq_len
    whole = _grouped_cache_bytes(one, one.num_heads)

    def cost(variant: str, num_kv_heads: int | None) -> Cost:
        parameters = (
            _latent_parameters(one)
            if num_kv_heads is None
            else _grouped_parameters(one, num_kv_heads)
        )
        a_token = (
            _latent_cache_bytes(one)
            if num_kv_heads is None
            else _grouped_cache_bytes(one, num_kv_heads)
        )
        return Cost(
            variant,
            num_kv_heads,
            one.num_layers * parameters,
            tokens * a_token,
            a_token,
            100 * a_token / whole,
        )

    grouped = [cost("GQA", number) for number in _kv_heads(one)]
    return [cost("MHA", one.num_heads), *grouped, cost("MQA", 1), cost("MLA", None)]


def check_measurable(configuration: Configuration, rows: Iterable[Cost]) -> None:
    """Hold what measuring would allocate, the weights and caches of one layer of all variants at once, to `MOST_MEASURED_BYTES`.

    Raises:
        DrillError: it is more, or the dtype is one that matrix products on a CPU do not take.
    """
    dtype = configuration.dtype
    if dtype not in MEASURABLE:
        raise DrillError(
            f"--measure cannot time {dtype}: torch multiplies no {dtype} matrices on a CPU. Give --dtype {' or '.join(MEASURABLE)}."
        )
    needed = (
        sum(row.parameters * ELEMENT_BYTES[dtype] + row.cache_bytes for row in rows)
        // configuration.num_layers
    )
    if needed > MOST_MEASURED_BYTES:
        raise DrillError(
            f"--measure would need {in_units(needed)} for the weights and caches of one layer of every variant; "
            f"it takes {in_units(MOST_MEASURED_BYTES)} at most. Give a smaller --seq-len, --batch or --d-model, or --dtype bfloat16."
        )


def in_units(size: int) -> str:
    """Bytes in the greatest unit of 1024 that leaves at least 1, with at most one decimal: `64 MiB`, `4.5 MiB`, `512 B`."""
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    power = 0
    while power < len(units) - 1 and round(size / 1024**power, 1) >= 1024:
        power += 1
    value = size / 1024**power
    return f"{decimal(value) if value < 1e6 else f'{value:.1e}'} {units[power]}"


def decimal(value: float) -> str:
    """With one decimal, halves rounded up, and no trailing `.0`: `100`, `12.5`, `3.1`; `<0.1` for what would round to nothing."""
    text = f"{math.floor(value * 10 + 0.5) / 10:,.1f}".removesuffix(".0")
    return "<0.1" if text == "0" and value > 0 else text


def _kv_heads(one: Configuration) -> list[int]:
    if one.num_kv_heads is not None:
        return [one.num_kv_heads]
    return [
        number
        for number in USUAL_KV_HEADS
        if one.num_heads % number == 0 and number != one.num_heads
    ]


def _grouped_parameters(one: Configuration, num_kv_heads: int) -> int:
    """q_proj, k_proj, v_proj and o_proj of one layer: 2 M H D + 2 M G D (Ainslie et al. 2023)."""
    query_and_output = 2 * one.d_model * one.num_heads * one.head_dim
    key_and_value = 2 * one.d_model * num_kv_heads * one.head_dim
    return query_and_output + key_and_value


def _latent_parameters(one: Configuration) -> int:
    """The projections of one layer of MLA (DeepSeek-AI 2024, section 2.1): query, kv_down and k_rope, k_up and v_up, o_proj."""
    query_width = one.num_heads * (one.head_dim + one.rope_dim)
    query = (
        one.d_model * query_width
        if one.q_rank is None
        else one.d_model * one.q_rank + one.q_rank * query_width
    )
    down = one.d_model * (one.kv_rank + one.rope_dim)  # the rotary key is one for all heads
    up = one.kv_rank * one.num_heads * 2 * one.head_dim
    return query + down + up + one.num_heads * one.head_dim * one.d_model


def _grouped_cache_bytes(one: Configuration, num_kv_heads: int) -> int:
    """Bytes a token of all layers: a key and a value of every KV head, 2 N G D E (Shazeer 2019)."""
    return 2 * one.num_layers * num_kv_heads * one.head_dim * ELEMENT_BYTES[one.dtype]


def _latent_cache_bytes(one: Configuration) -> int:
    """Bytes a token of all layers: one latent and one rotary key, N (R + Dr) E (DeepSeek-AI 2024, table 1)."""
    return one.num_layers * (one.kv_rank + one.rope_dim) * ELEMENT_BYTES[one.dtype]


def _check_size(option: str, size: int) -> None:
    if size < 1:
        raise DrillError(f"{option} is {size}, and must be at least 1.")
    if size > MOST:
        shown = f"{size:,}" if size < 10**30 else f"a number of {len(str(size))} digits"
        raise DrillError(
            f"{option} is {shown}, and may be {MOST:,} at most. Give a smaller number."
        )


def _indivisible_model(d_model: int, num_heads: int) -> str:
    below = d_model // num_heads * num_heads
    fits = f"{below} or {below + num_heads}" if below else f"{num_heads}"
    return f"--d-model {d_model} is not divisible by --heads {num_heads}. Give --d-model {fits}, other heads, or a --head-dim of its own."


def _divisors(number: int, most: int) -> list[int]:
    """At most `most` divisors, the small ones first."""
    found: list[int] = []
    for one in range(1, min(number, 4096) + 1):
        if number % one == 0:
            found.append(one)
        if len(found) == most:
            break
    return found


def _known(kind: str, wanted: str, names: Iterable[str]) -> str:
    """The one of these names that is wanted, or DrillError with the near ones, or with all."""
    by_lower = {name.lower(): name for name in names}
    if wanted.lower() in by_lower:
        return by_lower[wanted.lower()]
    near = difflib.get_close_matches(wanted.lower(), by_lower, n=3, cutoff=0.5)
    hint = (
        f"Did you mean {' or '.join(by_lower[one] for one in near)}?"
        if near
        else f"There are: {', '.join(by_lower.values())}."
    )
    raise DrillError(f"There is no {kind} {wanted!r}. {hint}")
