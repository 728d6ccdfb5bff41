"""The costs of the variants of attention, as terminal text or as plain values for JSON.

The text is a table with bars, and without bars on a narrow terminal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.text import Text

from trainer.model.quantities import plural
from trainer.report.literal import LiteralTable, Trimmed, grid
from trainer.report.styles import QUIET, RIGHT
from trainer.tools.attention_costs import (
    ELEMENT_BYTES,
    USUAL_KV_HEADS,
    Configuration,
    Cost,
    Preset,
    decimal,
    in_units,
)

if TYPE_CHECKING:
    from trainer.tools.decode_steps import Measured  # imports torch, and the table needs no torch

_WIDE = 70  # least width at which the table has bars
_LEAST = 50  # least width at which every number is on one line


def render(
    configuration: Configuration,
    preset: Preset | None,
    rows: Sequence[Cost],
    measured: Measured | None,
    width: int = 80,
) -> RenderableType:
    """Return the configuration, the table of costs, its notes and the measured times.

    Args:
        configuration: the sizes of the model.
        preset: the published model that the sizes come from, if they come from one.
        rows: the costs of each variant.
        measured: times of decode steps; None if nothing was measured.
        width: the columns of the terminal.
    """
    notes = [Text(note, style=QUIET) for note in _notes(configuration, preset, rows)]
    parts = [Text(_sizes(configuration, preset)), Text(), _table(rows, width), Text(), *notes]
    if measured is not None:
        parts += [Text(), *_decode(configuration, rows, measured)]
    return Trimmed(Group(*parts))


def as_values(
    configuration: Configuration,
    preset: Preset | None,
    rows: Sequence[Cost],
    measured: Measured | None,
) -> dict[str, object]:
    """Return the contents of the table as plain values for JSON.

    `measured` is None if nothing was measured. Its ratios are in the order of the rows.
    """
    return {
        "schema": "attn-drill.compare/1",
        "preset": preset.name if preset else None,
        "configuration": dataclasses.asdict(configuration),
        "rows": [dataclasses.asdict(row) for row in rows],
        "measured": dataclasses.asdict(measured) if measured else None,
    }


def _sizes(configuration: Configuration, preset: Preset | None) -> str:
    model = f"{preset.name}: " if preset else ""
    heads, tokens, layers = (
        plural(configuration.num_heads, "head"),
        plural(configuration.seq_len, "token"),
        plural(configuration.num_layers, "layer"),
    )
    return (
        f"{model}d_model {configuration.d_model}, {heads} of {configuration.head_dim}, {tokens}, "
        f"batch {configuration.batch}, {configuration.dtype}, {layers}"
    )


def _table(rows: Sequence[Cost], width: int) -> RenderableType:
    """Return a row for each variant. A wide terminal also gets bars of the caches."""
    is_wide = width >= _WIDE
    table = LiteralTable(
        box=None, pad_edge=False, collapse_padding=not is_wide, header_style="bold"
    )
    table.add_column("variant")
    for heading in ("parameters", "KV cache", "of MHA", "a token"):
        table.add_column(heading, justify="right", no_wrap=width >= _LEAST)
    if is_wide:
        table.add_column(max_width=40)
    greatest = max(row.cache_bytes for row in rows)
    for row in rows:
        cells: list[RenderableType] = [
            _name(row),
            _parameters(row),
            in_units(row.cache_bytes),
            _percent(row),
            _a_token(row),
        ]
        if is_wide:
            # The smallest cache still has a visible bar.
            cells.append(Bar(greatest, 0, max(row.cache_bytes, greatest / 64), color=RIGHT))
        table.add_row(*cells)
    return table


def _notes(
    configuration: Configuration, preset: Preset | None, rows: Sequence[Cost]
) -> Iterator[str]:
    """Yield notes on units, counting rules and published sizes."""
    num_heads, head_dim = configuration.num_heads, configuration.head_dim
    kv_rank, rope_dim = configuration.kv_rank, configuration.rope_dim
    if configuration.num_layers > 1:
        yield f"Parameters and cache are those of all {configuration.num_layers} layers."
    yield (
        "Parameters: the projections, no biases. "
        "A token: what one more token of a sequence adds to the cache. "
        "Units are powers of 1024."
    )
    size = plural(ELEMENT_BYTES[configuration.dtype], "byte")
    as_published = preset is not None and preset.dtype == configuration.dtype
    why = f", as {preset.name} is published" if preset is not None and as_published else ""
    yield f"The cache is counted in {configuration.dtype}, {size} a number{why}."
    kv_heads = [row.num_kv_heads for row in rows if row.variant == "GQA"]
    if not kv_heads:
        usual = " nor ".join(str(count) for count in USUAL_KV_HEADS)
        yield (
            f"Neither {usual} KV heads make a GQA of {plural(num_heads, 'head')}; "
            "--kv-heads gives another number."
        )
    if num_heads in kv_heads:
        yield f"GQA with {plural(num_heads, 'KV head')}, as many as there are query heads, is MHA."
    elif 1 in kv_heads:
        yield "GQA with 1 KV head is MQA."
    as_published = kv_rank == 4 * head_dim and rope_dim == head_dim // 2
    why = ": 4 head_dim and head_dim / 2, as DeepSeek-V2 chose them" if as_published else ""
    yield f"MLA caches kv_rank + rope_dim = {kv_rank} + {rope_dim} numbers a token and layer{why}."
    query = (
        "is projected at once (--q-rank makes a low-rank pair of it)"
        if configuration.q_rank is None
        else f"goes through q_rank {configuration.q_rank}, a low-rank pair"
    )
    yield f"MLA's query {query}."
    if preset is not None:
        heads = (
            f" with {preset.sizes['num_kv_heads']} KV heads"
            if "num_kv_heads" in preset.sizes
            else ""
        )
        yield f"{preset.name} itself has {preset.variant}{heads}."


def _decode(
    configuration: Configuration, rows: Sequence[Cost], measured: Measured
) -> Iterator[RenderableType]:
    """Yield the ratios of the decode steps and their quartiles."""
    threads, rounds = plural(measured.threads, "thread"), plural(measured.rounds, "round")
    yield Text("time of a decode step", style="bold")
    table = grid(padding=(0, 2, 0, 0))
    for row, ratio in zip(rows, measured.ratios, strict=True):
        spread = f"(x{_ratio(ratio.lower)} to x{_ratio(ratio.upper)})"
        table.add_row(
            _name(row), f"x{_ratio(ratio.median)}", "" if row.variant == "MHA" else spread
        )
    yield table
    yield Text(
        f"One new token, one layer, {threads}, no rotations; each time divided by MHA's of the "
        f"same round. Median and quartiles of {rounds}, here and now: another machine, or a busier "
        "one, gives others.",
        style=QUIET,
    )
    absorbed_size = 2 * configuration.kv_rank + configuration.rope_dim
    if rows[-1].cache_percent < 100 and absorbed_size > 2 * configuration.head_dim:
        yield Text(
            "Of its cache MLA, absorbed, reads less than MHA and multiplies more with it, which "
            "costs most where arithmetic is slow.",
            style=QUIET,
        )


def _name(row: Cost) -> str:
    return (
        f"GQA, {plural(row.num_kv_heads or 0, 'KV head')}" if row.variant == "GQA" else row.variant
    )


def _parameters(row: Cost) -> str:
    return f"{row.parameters:,}" if row.parameters < 10**12 else f"{row.parameters:.2e}"


def _percent(row: Cost) -> str:
    return f"{decimal(row.cache_percent)} %"


def _a_token(row: Cost) -> str:
    """Return the bytes for each token, in KiB for common sizes, so that models can be compared."""
    size = row.bytes_per_token
    return f"{decimal(size / 1024)} KiB" if 1024 <= size < 100 << 20 else in_units(size)


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"
