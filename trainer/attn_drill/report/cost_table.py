"""The costs of the variants of attention, as terminal text or as plain values for JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.quantities import in_bytes, plural
from attn_drill.report.literal import LiteralTable, Trimmed
from attn_drill.report.styles import QUIET, RIGHT
from attn_drill.tools.attention_costs import ELEMENT_BYTES, Configuration, Cost, Preset

_WIDE = 70  # least width at which the table has bars


def render(
    sizes: Configuration, preset: Preset | None, rows: Sequence[Cost], width: int = 80
) -> RenderableType:
    """Return the configuration, which may be that of a published model, the table and its notes."""
    model = f"{preset.name}: " if preset else ""
    title = (
        f"{model}d_model {sizes.d_model}, {plural(sizes.num_heads, 'head')} of {sizes.head_dim}, "
        f"{plural(sizes.seq_len, 'token')}, batch {sizes.batch}, {sizes.dtype}, "
        f"{plural(sizes.num_layers, 'layer')}"
    )
    notes = (Text(note, style=QUIET) for note in _notes(sizes, preset))
    return Trimmed(Group(Text(title), Text(), _table(rows, width), Text(), *notes))


def as_values(
    sizes: Configuration, preset: Preset | None, rows: Sequence[Cost]
) -> dict[str, object]:
    """Return the contents of the table as plain values for JSON."""
    return {
        "schema": "attn-drill.compare/2",
        "preset": preset.name if preset else None,
        "configuration": dataclasses.asdict(sizes),
        "rows": [dataclasses.asdict(row) for row in rows],
    }


def _table(rows: Sequence[Cost], width: int) -> RenderableType:
    """Return a row for each variant. A wide terminal also gets bars of the caches."""
    is_wide = width >= _WIDE
    table = LiteralTable(
        box=None, pad_edge=False, collapse_padding=not is_wide, header_style="bold"
    )
    table.add_column("variant")
    for heading in ("parameters", "KV cache", "of MHA", "a token"):
        table.add_column(heading, justify="right")
    if is_wide:
        table.add_column(max_width=40)
    greatest = max(row.cache_bytes for row in rows)
    for row in rows:
        heads = f", {plural(row.num_kv_heads or 0, 'KV head')}" if row.variant == "GQA" else ""
        # The smallest cache still has a visible bar.
        bar = Bar(greatest, 0, max(row.cache_bytes, greatest / 64), color=RIGHT)
        table.add_row(
            f"{row.variant}{heads}",
            f"{row.parameters:,}",
            in_bytes(row.cache_bytes),
            f"{row.cache_percent:,.1f} %",
            in_bytes(row.bytes_per_token),
            *([bar] if is_wide else []),
        )
    return table


def _notes(sizes: Configuration, preset: Preset | None) -> Iterator[str]:
    """Yield notes on counting rules and on the published model."""
    if sizes.num_layers > 1:
        yield f"Parameters and cache are those of all {sizes.num_layers} layers."
    yield (
        "Parameters: the projections, no biases. "
        "A token: what one more token of a sequence adds to the cache. "
        f"A number of {sizes.dtype} has {plural(ELEMENT_BYTES[sizes.dtype], 'byte')}."
    )
    query = "is projected at once (q_rank makes a low-rank pair of it)"
    if sizes.q_rank is not None:
        query = f"goes through q_rank {sizes.q_rank}, a low-rank pair"
    yield (
        f"MLA caches kv_rank + rope_dim = {sizes.kv_rank} + {sizes.rope_dim} numbers a token and "
        f"layer. Its query {query}."
    )
    if preset is not None:
        yield f"{preset.name} itself has {preset.variant}."
