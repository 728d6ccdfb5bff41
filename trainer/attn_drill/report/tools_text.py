"""Facts about attention heads as terminal text, as plain values for JSON, and as a page."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.bar import Bar
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.words import in_bytes, plural
from attn_drill.report.code_text import LiteralTable, Trimmed, labelled
from attn_drill.report.wording import QUIET, RIGHT, WRONG, number, ranges, visible
from attn_drill.tools.attention_costs import ELEMENT_BYTES, Configuration, Cost, Preset

if TYPE_CHECKING:
    from attn_drill.tools.attention_heads import HeadFacts

_WIDE_COLUMNS = 70  # least width at which the table has bars


def render_costs(
    sizes: Configuration, preset: Preset | None, rows: Sequence[Cost], width: int = 80
) -> RenderableType:
    """Return the configuration, which may be that of a published model, the table and its notes."""
    model = f"{preset.name}: " if preset else ""
    title = (
        f"{model}d_model {sizes.d_model}, {plural(sizes.num_heads, 'head')} of {sizes.head_dim}, "
        f"{plural(sizes.seq_len, 'token')}, batch {sizes.batch}, {sizes.dtype}, "
        f"{plural(sizes.num_layers, 'layer')}"
    )
    notes = (Text(note, style=QUIET) for note in _cost_notes(sizes, preset))
    return Trimmed(Group(Text(title), Text(), _costs_table(rows, width), Text(), *notes))


def costs_as_values(
    sizes: Configuration, preset: Preset | None, rows: Sequence[Cost]
) -> dict[str, object]:
    """Return the contents of the table as plain values for JSON."""
    return {
        "schema": "attn-drill.compare/2",
        "preset": preset.name if preset else None,
        "configuration": dataclasses.asdict(sizes),
        "rows": [dataclasses.asdict(row) for row in rows],
    }


def _costs_table(rows: Sequence[Cost], width: int) -> RenderableType:
    """Return a row for each variant. A wide terminal also gets bars of the caches."""
    is_wide = width >= _WIDE_COLUMNS
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


def _cost_notes(sizes: Configuration, preset: Preset | None) -> Iterator[str]:
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


MOST_DRAWN = 12
SCHEMA = "attn-drill.heads/1"
_ROOM, _WHOLE_ROOM = 22, 64  # the most columns of a small and of a large picture
_LEGEND = (
    "Queries down, keys across. ░ ▒ ▓ █ from 1/16, 1/8, 1/4, 1/2 of the head's max. "
    "A cell of a long head is the mean over neighbouring positions."
)


def cells(length: int, width: int = 80, *, whole: bool = False) -> tuple[int, int]:
    """Return the rows and columns of a picture of so many positions, which may be the only one."""
    room = min(_WHOLE_ROOM if whole else _ROOM, width - 2)
    columns = max(1, min(length, room))
    # A character is twice as high as wide. So the picture of a short head has two characters for
    # each cell, and that of a long one has half as many rows as columns.
    if whole or 2 * length <= room:
        return columns, columns
    return (columns + 1) // 2, columns


def render_heads(
    facts: Sequence[HeadFacts], file: str, width: int = 80, *, whole: bool = False
) -> RenderableType:
    """Return the table, the notes and the pictures as one renderable."""
    # Heads without a grid are only counted.
    drawn = [head for head in facts if head.grid]
    # Names from a file get no control characters and no line ends.
    file = " ".join(visible(file, lines=True).split())
    title = Text(file, style="bold").append(f"  {heads_summary(facts)}", style="not bold")
    parts: list[RenderableType] = [title, Text()]
    if any(head.tensor for head in drawn):
        names: list[tuple[str, str]] = []
        for name, heads in groupby(drawn, key=lambda head: head.tensor):
            numbers = [head.head_index for head in heads]
            noun = "heads" if len(numbers) > 1 else "head"
            tensor = " ".join(visible(name, lines=True).split())
            names.append((f"{noun} {ranges(numbers)}", tensor))
        parts += [labelled(names, padding=(0, 2, 0, 0)), Text()]
    parts.append(_heads_table(drawn))
    notes = [head for head in drawn if head.notes]
    parts += [Text()] if notes else []
    for head in notes:
        note = Text(f"! head {head.head_index}: ", style=WRONG)
        parts.append(note.append("; ".join(head.notes), style="default"))
    room = min(_WHOLE_ROOM if whole else _ROOM, width - 2)
    pictures = [_picture(head, room) for head in drawn]
    # As many are side by side as fit.
    parts += [Text(), Columns(pictures, padding=(1, 2, 1, 0), equal=True), Text()]
    parts.append(Text(_LEGEND, QUIET))
    if more := len(facts) - len(drawn):
        strange = sum(bool(head.notes) for head in facts if not head.grid)
        also = f", {strange} of them unlike attention weights" if strange else ""
        options = "--head N shows one, --html OUT.html all, --json all numbers."
        parts.append(Text(f"{plural(more, 'more head')}{also}: {options}"))
    return Trimmed(Group(*parts))


def heads_summary(facts: Sequence[HeadFacts]) -> str:
    """Return the count of heads, their length and classes: `12 heads  L=16  12 backward`."""
    lengths = sorted({head.length for head in facts})
    span = f"L={lengths[0]}" if len(lengths) == 1 else f"L={lengths[0]} to {lengths[-1]}"
    kinds = Counter(head.kind or "without class" for head in facts).most_common()
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds)
    return f"{plural(len(facts), 'head')}  {span}  {counts}"


def _heads_table(facts: Sequence[HeadFacts]) -> RenderableType:
    """Return a row for each head. A mark after its class stands for its notes."""
    table = LiteralTable(box=None, pad_edge=False, collapse_padding=True, header_style=QUIET)
    for heading in ("head", "index", "L", "entropy", "/ln L", "distance"):
        table.add_column(heading, justify="right")
    table.add_column("class")
    for head in facts:
        table.add_row(
            str(head.head_index),
            index_in_words(head),
            str(head.length),
            number(head.entropy).replace("nan", "-"),
            f"{head.entropy_share:.0%}".replace("nan%", "-"),
            number(head.distance).replace("nan", "-"),
            Text(head.kind or "-").append(" !" if head.notes else "", style=WRONG),
        )
    return table


def index_in_words(head: HeadFacts) -> str:
    """Return a head's index in the leading dims, e.g. `[3, 0, 11]`; "" if there is only one dim."""
    return str(list(head.index)) if len(head.index) > 1 else ""


def _picture(head: HeadFacts, room: int) -> Text:
    """Return two lines of caption, then the head in a frame."""
    most = greatest(head)
    columns = len(head.grid[0])
    is_wide = len(head.grid) == columns and 2 * columns <= room
    times = 2 if is_wide else 1
    rows = ["".join(_shade(value, most) * times for value in row) for row in head.grid]
    edge = "─" * len(rows[0])
    frame = [f"┌{edge}┐", *(f"│{row}│" for row in rows), f"└{edge}┘"]
    name = f"head {head.head_index} {index_in_words(head)}".rstrip()
    text = Text(name, no_wrap=True, overflow="crop")
    text.append(f"\n{head.kind or 'no class'}  max {number(most)}\n")
    return text.append("\n".join(frame), style=RIGHT)


def greatest(head: HeadFacts) -> float:
    """Return the greatest value in a head's picture; 0 if no value is greater than 0."""
    return max((value for row in head.grid for value in row if value > 0), default=0.0)


def _shade(value: float, most: float) -> str:
    if math.isnan(value):
        return "?"
    if value < 0:
        return "-"
    # Each shade means twice as much as the shade before.
    return " ░▒▓█"[sum(value >= most / part for part in (16, 8, 4, 2))] if most else " "


def heads_as_object(facts: Sequence[HeadFacts], file: str) -> dict[str, Any]:
    """Return the facts as dicts and lists for JSON. An undefined number is None."""
    heads: list[dict[str, Any]] = []
    for head in facts:
        values = {
            "number": head.head_index,
            "tensor": head.tensor or None,
            "index": list(head.index),
            "length": head.length,
        }
        for name in ("entropy", "entropy_share", "distance"):
            value = getattr(head, name)
            values[name] = value if math.isfinite(value) else None
        heads.append({**values, "class": head.kind or None, "notes": list(head.notes)})
    return {"schema": SCHEMA, "file": file, "heads": heads}
