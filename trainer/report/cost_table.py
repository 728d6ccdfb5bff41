"""What the variants of attention cost: a table with bars, stacked where the terminal is narrow, or JSON's plain values."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from trainer.report.wording import counted
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
    from trainer.tools.decode_steps import Measured  # imports torch, which the table does without

_HEAD = ("variant", "parameters", "KV cache", "of MHA", "a token")
_FEWEST_BAR, _MOST_BAR = 8, 40
_GAP = "  "


def as_text(
    configuration: Configuration,
    preset: Preset | None,
    rows: Sequence[Cost],
    measured: Measured | None,
    *,
    width: int,
    unicode: bool,
    colour: bool,
) -> str:
    """The configuration, the rows with bars at most as wide as `width` columns leave, what they mean, and what was measured."""
    lines = [
        *_wrapped(_sizes(configuration, preset), width),
        "",
        *_rows(rows, width, unicode=unicode, colour=colour),
        "",
    ]
    for note in _notes(configuration, preset, rows):
        lines += [_styled(line, colour, dim=True) for line in _wrapped(note, width)]
    if measured is not None:
        lines += ["", *_decode(configuration, rows, measured, width, colour=colour)]
    return "\n".join(lines)


def as_values(
    configuration: Configuration,
    preset: Preset | None,
    rows: Sequence[Cost],
    measured: Measured | None,
) -> dict[str, object]:
    """The same for JSON; `measured` is null where nothing was, and its ratios come in the order of the rows."""
    return {
        "schema": "attn-drill.compare/1",
        "preset": preset.name if preset else None,
        "configuration": dataclasses.asdict(configuration),
        "rows": [dataclasses.asdict(row) for row in rows],
        "measured": dataclasses.asdict(measured) if measured else None,
    }


def _sizes(one: Configuration, preset: Preset | None) -> str:
    model = f"{preset.name}: " if preset else ""
    heads, tokens, layers = (
        counted(one.num_heads, "head"),
        counted(one.seq_len, "token"),
        counted(one.num_layers, "layer"),
    )
    return f"{model}d_model {one.d_model}, {heads} of {one.head_dim}, {tokens}, batch {one.batch}, {one.dtype}, {layers}"


def _rows(rows: Sequence[Cost], width: int, *, unicode: bool, colour: bool) -> list[str]:
    """One line a variant, or where the bars would have no room a few lines each."""
    cells = [
        _HEAD,
        *(
            (_name(row), _parameters(row), in_units(row.cache_bytes), _percent(row), _a_token(row))
            for row in rows
        ),
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
    room = min(width - sum(widths) - len(_GAP) * len(widths), _MOST_BAR)
    greatest = max(row.cache_bytes for row in rows)
    if room < _FEWEST_BAR:
        return _stacked(rows, greatest, width, unicode=unicode, colour=colour)
    lines: list[str] = []
    for line, row in zip(cells, [None, *rows], strict=True):
        text = _GAP.join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(size) for cell, size in zip(line[1:], widths[1:], strict=True)),
            ]
        )
        if row is None:
            lines.append(_styled(text, colour, bold=True))
        else:
            lines.append(
                text
                + _GAP
                + _styled(_bar(row.cache_bytes, greatest, room, unicode=unicode), colour, fg="blue")
            )
    return lines


def _stacked(
    rows: Sequence[Cost], greatest: int, width: int, *, unicode: bool, colour: bool
) -> list[str]:
    lines: list[str] = []
    for row in rows:
        lines.append(_styled(_name(row), colour, bold=True))
        lines += _wrapped(f"parameters  {_parameters(row)}", width, "  ")
        lines += _wrapped(
            f"KV cache    {in_units(row.cache_bytes)}, {_a_token(row)} a token", width, "  "
        )
        share = f"  of MHA      {_percent(row):>6}"
        room = min(width - len(share) - len(_GAP), _MOST_BAR)
        bar = _bar(row.cache_bytes, greatest, room, unicode=unicode) if room >= _FEWEST_BAR else ""
        lines.append(f"{share}{_GAP}{_styled(bar, colour, fg='blue')}".rstrip())
    return lines


def _bar(size: int, greatest: int, room: int, *, unicode: bool) -> str:
    """Block characters, by eighths, or `#`; the greatest fills the room, and the smallest still shows."""
    if not unicode:
        return "#" * max(1, round(room * size / greatest))
    full, eighths = divmod(max(1, round(8 * room * size / greatest)), 8)
    return "█" * full + " ▏▎▍▌▋▊▉"[eighths].strip()


def _notes(one: Configuration, preset: Preset | None, rows: Sequence[Cost]) -> Iterator[str]:
    if one.num_layers > 1:
        yield f"Parameters and cache are those of all {one.num_layers} layers."
    yield "Parameters: the projections, no biases. A token: what one more token of a sequence adds to the cache. Units are powers of 1024."
    size = counted(ELEMENT_BYTES[one.dtype], "byte")
    as_published = preset is not None and preset.dtype == one.dtype
    why = f", as {preset.name} is published" if preset is not None and as_published else ""
    yield f"The cache is counted in {one.dtype}, {size} a number{why}."
    given = [row.num_kv_heads for row in rows if row.variant == "GQA"]
    if not given:
        usual = " nor ".join(str(number) for number in USUAL_KV_HEADS)
        yield f"Neither {usual} KV heads make a GQA of {counted(one.num_heads, 'head')}; --kv-heads gives another number."
    if one.num_heads in given:
        yield f"GQA with {counted(one.num_heads, 'KV head')}, as many as there are query heads, is MHA."
    elif 1 in given:
        yield "GQA with 1 KV head is MQA."
    as_published = one.kv_rank == 4 * one.head_dim and one.rope_dim == one.head_dim // 2
    why = ": 4 head_dim and head_dim / 2, as DeepSeek-V2 chose them" if as_published else ""
    yield f"MLA caches kv_rank + rope_dim = {one.kv_rank} + {one.rope_dim} numbers a token and layer{why}."
    query = (
        "is projected at once (--q-rank makes a low-rank pair of it)"
        if one.q_rank is None
        else f"goes through q_rank {one.q_rank}, a low-rank pair"
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
    one: Configuration, rows: Sequence[Cost], measured: Measured, width: int, *, colour: bool
) -> Iterator[str]:
    """The ratios of the decode steps, with the quartiles beside them."""
    threads, rounds = counted(measured.threads, "thread"), counted(measured.rounds, "round")
    yield _styled("time of a decode step", colour, bold=True)
    longest = max(len(_name(row)) for row in rows)
    for row, ratio in zip(rows, measured.ratios, strict=True):
        spread = (
            "" if row.variant == "MHA" else f"  (x{_ratio(ratio.lower)} to x{_ratio(ratio.upper)})"
        )
        yield f"{_name(row):<{longest}}  x{_ratio(ratio.median)}{spread}"
    notes = [
        f"One new token, one layer, {threads}, no rotations; each time divided by MHA's of the same round. "
        f"Median and quartiles of {rounds}, here and now: another machine, or a busier one, gives others."
    ]
    if rows[-1].cache_percent < 100 and 2 * one.kv_rank + one.rope_dim > 2 * one.head_dim:
        notes.append(
            "Of its cache MLA, absorbed, reads less than MHA and multiplies more with it, which costs most where arithmetic is slow."
        )
    for note in notes:
        for line in _wrapped(note, width):
            yield _styled(line, colour, dim=True)


def _name(row: Cost) -> str:
    return (
        f"GQA, {counted(row.num_kv_heads or 0, 'KV head')}" if row.variant == "GQA" else row.variant
    )


def _parameters(row: Cost) -> str:
    return f"{row.parameters:,}" if row.parameters < 10**15 else f"{row.parameters:.2e}"


def _percent(row: Cost) -> str:
    return f"{decimal(row.cache_percent)} %"


def _a_token(row: Cost) -> str:
    """In KiB as far as that reads well, so that models can be compared."""
    size = row.bytes_per_token
    return f"{decimal(size / 1024)} KiB" if 1024 <= size < 100 << 20 else in_units(size)


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, max(width, 20), initial_indent=indent, subsequent_indent=indent * 2)


def _styled(
    text: str,
    colour: bool,
    *,
    fg: str | None = None,
    bold: bool | None = None,
    dim: bool | None = None,
) -> str:
    return typer.style(text, fg=fg, bold=bold, dim=dim) if colour else text
