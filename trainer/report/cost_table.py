"""The costs of the variants of attention, as terminal text or as plain values for JSON.

The text is a table with bars. On a narrow terminal each variant has a few lines instead of a row.
"""

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
    from trainer.tools.decode_steps import Measured  # imports torch, and the table needs no torch

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
    """Return the configuration, the table of costs, its notes and the measured times as text.

    Args:
        configuration: the sizes of the model.
        preset: the published model that the sizes come from, if they come from one.
        rows: the costs of each variant.
        measured: times of decode steps; None if nothing was measured.
        width: the columns of the terminal. The bars get the room that the numbers leave.
        unicode: draw bars of block characters, not of `#`.
        colour: use colours and bold text.
    """
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
        counted(configuration.num_heads, "head"),
        counted(configuration.seq_len, "token"),
        counted(configuration.num_layers, "layer"),
    )
    return (
        f"{model}d_model {configuration.d_model}, {heads} of {configuration.head_dim}, {tokens}, "
        f"batch {configuration.batch}, {configuration.dtype}, {layers}"
    )


def _rows(rows: Sequence[Cost], width: int, *, unicode: bool, colour: bool) -> list[str]:
    """Return one line for each variant, or a few lines for each if the bars do not fit."""
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
    """Return a bar of block characters, in steps of an eighth, or of `#`.

    The greatest size fills the room. The smallest size still has a visible bar.
    """
    if not unicode:
        return "#" * max(1, round(room * size / greatest))
    full, eighths = divmod(max(1, round(8 * room * size / greatest)), 8)
    return "█" * full + " ▏▎▍▌▋▊▉"[eighths].strip()


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
    size = counted(ELEMENT_BYTES[configuration.dtype], "byte")
    as_published = preset is not None and preset.dtype == configuration.dtype
    why = f", as {preset.name} is published" if preset is not None and as_published else ""
    yield f"The cache is counted in {configuration.dtype}, {size} a number{why}."
    kv_heads = [row.num_kv_heads for row in rows if row.variant == "GQA"]
    if not kv_heads:
        usual = " nor ".join(str(count) for count in USUAL_KV_HEADS)
        yield (
            f"Neither {usual} KV heads make a GQA of {counted(num_heads, 'head')}; "
            "--kv-heads gives another number."
        )
    if num_heads in kv_heads:
        yield f"GQA with {counted(num_heads, 'KV head')}, as many as there are query heads, is MHA."
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
    configuration: Configuration,
    rows: Sequence[Cost],
    measured: Measured,
    width: int,
    *,
    colour: bool,
) -> Iterator[str]:
    """Yield lines with the ratios of the decode steps and their quartiles."""
    threads, rounds = counted(measured.threads, "thread"), counted(measured.rounds, "round")
    yield _styled("time of a decode step", colour, bold=True)
    longest = max(len(_name(row)) for row in rows)
    for row, ratio in zip(rows, measured.ratios, strict=True):
        spread = (
            "" if row.variant == "MHA" else f"  (x{_ratio(ratio.lower)} to x{_ratio(ratio.upper)})"
        )
        yield f"{_name(row):<{longest}}  x{_ratio(ratio.median)}{spread}"
    notes = [
        f"One new token, one layer, {threads}, no rotations; each time divided by MHA's of the "
        f"same round. Median and quartiles of {rounds}, here and now: another machine, or a busier "
        "one, gives others."
    ]
    absorbed_size = 2 * configuration.kv_rank + configuration.rope_dim
    if rows[-1].cache_percent < 100 and absorbed_size > 2 * configuration.head_dim:
        notes.append(
            "Of its cache MLA, absorbed, reads less than MHA and multiplies more with it, which "
            "costs most where arithmetic is slow."
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
    """Return the bytes for each token, in KiB for common sizes, so that models can be compared."""
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
