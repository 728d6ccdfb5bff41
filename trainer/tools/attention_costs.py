"""Compute the parameters of the projections and the bytes of the KV cache of attention variants.

M is d_model, H the number of query heads, G the number of key/value heads, D head_dim, S tokens,
B batch, N layers, E bytes per element. For MLA also Rq is q_rank, R kv_rank, Dr rope_dim.

    MHA, GQA, MQA   parameters  N (2 M H D + 2 M G D)
                    cache       2 B S N G D E
    MLA             parameters  N (query + M (R + Dr) + R H 2 D + H D M)
                    cache       B S N (R + Dr) E
                    query       M H (D + Dr), or M Rq + Rq H (D + Dr) as a low-rank pair

MHA has G = H, and MQA has G = 1. Biases and norms are not counted.

Sources: Shazeer 2019, "Fast Transformer Decoding" (MQA); Ainslie et al. 2023, "GQA"; DeepSeek-AI
2024, "DeepSeek-V2" (MLA; the widths per head of the part without positions and of the values are
taken to be D).
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
    """The sizes of a model.

    Attributes:
        d_model: The width of the model.
        num_heads: The number of query heads.
        num_kv_heads: The number of key/value heads of GQA, or None if it is not given.
        head_dim: The width of a head.
        seq_len: The number of tokens in the cache.
        batch: The number of sequences.
        num_layers: The number of layers.
        dtype: The name of the dtype of weights and cache.
        kv_rank: The width of MLA's latent.
        rope_dim: The width of MLA's rotary key.
        q_rank: The rank of MLA's query, or None if the query has no low-rank pair.
    """

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
    """A published model.

    Attributes:
        name: The name of the model.
        variant: The attention variant.
        dtype: `torch_dtype` of the published configuration, which is the dtype of the KV cache
            unless the cache is quantised. It is bfloat16 for DeepSeek-V3 too, whose weights are
            published in float8.
        sizes: The sizes by the names of `configure`'s arguments.
    """

    name: str
    variant: str
    dtype: str
    sizes: dict[str, int]


@dataclass(frozen=True)
class Cost:
    """The cost of one attention variant.

    Attributes:
        variant: The name of the variant.
        num_kv_heads: The number of key/value heads. None for MLA, whose cache has no heads.
        parameters: The number of parameters in all layers.
        cache_bytes: The bytes of the cache in all layers.
        bytes_per_token: The bytes of the cache in all layers for one token of one sequence.
        cache_percent: The size of the cache in percent of MHA's cache.
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

# The command-line option of each size.
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
    """Return the published model of this name. Ignore the case of letters.

    Raises:
        DrillError: If there is no preset of this name. The message has the nearest names.
    """
    name = _known("preset", wanted, [preset.name for preset in PRESETS])
    return next(preset for preset in PRESETS if preset.name == name)


def configure(
    preset: Preset | None = None, dtype: str | None = None, **given: int | None
) -> Configuration:
    """Return the configuration for some given sizes.

    A size that is not given comes from the preset, or else from the defaults. If neither has the
    size, head_dim is d_model / num_heads, kv_rank is 4 head_dim, and rope_dim is head_dim // 2 (as
    in DeepSeek-V2).

    Args:
        preset: A published model.
        dtype: The name of the dtype; by default the preset's dtype, or else float32.
        **given: Sizes by the names of `OPTIONS`. None is the same as not given.

    Raises:
        DrillError: If a size is below 1 or above `MOST`, a division has a remainder, or the dtype
            is unknown.
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
        # The preset's head_dim is d_model / num_heads, so it follows the given sizes.
        del sizes["head_dim"]
    if "head_dim" not in sizes and d_model % num_heads != 0:
        raise DrillError(_indivisible_model(d_model, num_heads))
    if num_kv_heads is not None and num_heads % num_kv_heads != 0:
        fitting = ", ".join(str(divisor) for divisor in _divisors(num_heads, 8))
        raise DrillError(
            f"--heads {num_heads} is not divisible by --kv-heads {num_kv_heads}. "
            f"These numbers fit: {fitting}."
        )
    head_dim = sizes.get("head_dim", d_model // num_heads)
    default_dtype = preset.dtype if preset else USUAL_DTYPE
    return Configuration(
        d_model=d_model,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        seq_len=sizes["seq_len"],
        batch=sizes["batch"],
        num_layers=sizes["num_layers"],
        dtype=_known("dtype", dtype, ELEMENT_BYTES) if dtype is not None else default_dtype,
        kv_rank=sizes.get("kv_rank", 4 * head_dim),
        rope_dim=sizes.get("rope_dim", head_dim // 2),
        q_rank=sizes.get("q_rank"),
    )


def costs(configuration: Configuration) -> list[Cost]:
    """Return the costs of MHA, GQA, MQA and MLA for one configuration, in this order.

    GQA has the given number of KV heads. If none is given, there is a row for 8 and a row for 4 KV
    heads, unless the number does not divide the heads or is the number of all heads.
    """
    tokens = configuration.batch * configuration.seq_len
    mha_bytes = _grouped_cache_bytes(configuration, configuration.num_heads)

    def cost(variant: str, num_kv_heads: int | None) -> Cost:
        parameters = (
            _latent_parameters(configuration)
            if num_kv_heads is None
            else _grouped_parameters(configuration, num_kv_heads)
        )
        token_bytes = (
            _latent_cache_bytes(configuration)
            if num_kv_heads is None
            else _grouped_cache_bytes(configuration, num_kv_heads)
        )
        return Cost(
            variant,
            num_kv_heads,
            configuration.num_layers * parameters,
            tokens * token_bytes,
            token_bytes,
            100 * token_bytes / mha_bytes,
        )

    grouped = [cost("GQA", num_kv_heads) for num_kv_heads in _kv_heads(configuration)]
    return [
        cost("MHA", configuration.num_heads),
        *grouped,
        cost("MQA", 1),
        cost("MLA", None),
    ]


def check_measurable(configuration: Configuration, rows: Iterable[Cost]) -> None:
    """Check that the costs can be measured.

    The weights and caches of one layer of all variants together must fit into
    `MOST_MEASURED_BYTES`.

    Raises:
        DrillError: If they are larger, or if torch has no matrix products of this dtype on a CPU.
    """
    dtype = configuration.dtype
    if dtype not in MEASURABLE:
        raise DrillError(
            f"--measure cannot time {dtype}: torch multiplies no {dtype} matrices on a CPU. "
            f"Give --dtype {' or '.join(MEASURABLE)}."
        )
    needed = (
        sum(row.parameters * ELEMENT_BYTES[dtype] + row.cache_bytes for row in rows)
        // configuration.num_layers
    )
    if needed > MOST_MEASURED_BYTES:
        raise DrillError(
            f"--measure would need {in_units(needed)} for the weights and caches of one layer of "
            f"every variant; it takes {in_units(MOST_MEASURED_BYTES)} at most. "
            "Give a smaller --seq-len, --batch or --d-model, or --dtype bfloat16."
        )


def in_units(size: int) -> str:
    """Return a number of bytes as text: `64 MiB`, `4.5 MiB`, `512 B`.

    The unit is the largest power of 1024 that leaves at least 1. There is at most one decimal.
    """
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    power = 0
    while power < len(units) - 1 and round(size / 1024**power, 1) >= 1024:
        power += 1
    value = size / 1024**power
    return f"{decimal(value) if value < 1e6 else f'{value:.1e}'} {units[power]}"


def decimal(value: float) -> str:
    """Return a number with at most one decimal, halves rounded up: `100`, `12.5`, `3.1`.

    A positive number that would be rounded to 0 is `<0.1`.
    """
    text = f"{math.floor(value * 10 + 0.5) / 10:,.1f}".removesuffix(".0")
    return "<0.1" if text == "0" and value > 0 else text


def _kv_heads(configuration: Configuration) -> list[int]:
    if configuration.num_kv_heads is not None:
        return [configuration.num_kv_heads]
    num_heads = configuration.num_heads
    return [
        num_kv_heads
        for num_kv_heads in USUAL_KV_HEADS
        if num_heads % num_kv_heads == 0 and num_kv_heads != num_heads
    ]


def _grouped_parameters(sizes: Configuration, num_kv_heads: int) -> int:
    """Return the parameters of q_proj, k_proj, v_proj and o_proj in one layer.

    2 M H D + 2 M G D (Ainslie et al. 2023).
    """
    query_and_output = 2 * sizes.d_model * sizes.num_heads * sizes.head_dim
    key_and_value = 2 * sizes.d_model * num_kv_heads * sizes.head_dim
    return query_and_output + key_and_value


def _latent_parameters(sizes: Configuration) -> int:
    """Return the parameters of MLA's projections in one layer.

    The projections are the query, kv_down and k_rope, k_up and v_up, and o_proj (DeepSeek-AI 2024,
    section 2.1).
    """
    query_width = sizes.num_heads * (sizes.head_dim + sizes.rope_dim)
    query = (
        sizes.d_model * query_width
        if sizes.q_rank is None
        else sizes.d_model * sizes.q_rank + sizes.q_rank * query_width
    )
    down = sizes.d_model * (sizes.kv_rank + sizes.rope_dim)  # all heads share one rotary key
    up = sizes.kv_rank * sizes.num_heads * 2 * sizes.head_dim
    return query + down + up + sizes.num_heads * sizes.head_dim * sizes.d_model


def _grouped_cache_bytes(sizes: Configuration, num_kv_heads: int) -> int:
    """Return the bytes per token in all layers: a key and a value for every KV head.

    2 N G D E (Shazeer 2019).
    """
    return 2 * sizes.num_layers * num_kv_heads * sizes.head_dim * ELEMENT_BYTES[sizes.dtype]


def _latent_cache_bytes(sizes: Configuration) -> int:
    """Return the bytes per token in all layers: one latent and one rotary key.

    N (R + Dr) E (DeepSeek-AI 2024, table 1).
    """
    return sizes.num_layers * (sizes.kv_rank + sizes.rope_dim) * ELEMENT_BYTES[sizes.dtype]


def _check_size(option: str, size: int) -> None:
    if size < 1:
        raise DrillError(f"{option} is {size}; it must be at least 1.")
    if size > MOST:
        shown = f"{size:,}" if size < 10**30 else f"a number of {len(str(size))} digits"
        raise DrillError(
            f"{option} is {shown}; it must be at most {MOST:,}. Give a smaller number."
        )


def _indivisible_model(d_model: int, num_heads: int) -> str:
    below = d_model // num_heads * num_heads
    fits = f"{below} or {below + num_heads}" if below else f"{num_heads}"
    return (
        f"--d-model {d_model} is not divisible by --heads {num_heads}. "
        f"Give --d-model {fits}, another --heads, or a --head-dim."
    )


def _divisors(number: int, most: int) -> list[int]:
    """Return at most `most` divisors of a number, the smallest first."""
    divisors: list[int] = []
    for candidate in range(1, min(number, 4096) + 1):
        if number % candidate == 0:
            divisors.append(candidate)
        if len(divisors) == most:
            break
    return divisors


def _known(kind: str, wanted: str, names: Iterable[str]) -> str:
    """Return the wanted name as `names` spells it. Ignore the case of letters.

    Raises:
        DrillError: If `names` does not have it. The message has the nearest names, or all names.
    """
    by_lower = {name.lower(): name for name in names}
    if wanted.lower() in by_lower:
        return by_lower[wanted.lower()]
    near = difflib.get_close_matches(wanted.lower(), by_lower, n=3, cutoff=0.5)
    hint = (
        f"Did you mean {' or '.join(by_lower[name] for name in near)}?"
        if near
        else f"There are: {', '.join(by_lower.values())}."
    )
    raise DrillError(f"There is no {kind} {wanted!r}. {hint}")
