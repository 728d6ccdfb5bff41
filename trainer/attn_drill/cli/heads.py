"""`attn-drill tools heads FILE`: describe the heads of saved attention weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from attn_drill.cli.page_files import check_page_name, write_page
from attn_drill.cli.parameters import AsJson, Html
from attn_drill.model.errors import DrillError, GraderError

MOST_IN_HTML = 512

_FILE = typer.Argument(metavar="FILE", help="Weights [..., L, L] in .safetensors, .npy or .npz.")
_NAME = typer.Option(metavar="TENSOR", help="Only this tensor of the file.")
_HEAD = typer.Option(metavar="N", help="Only this head, in full size.")


def heads(
    file: Annotated[Path, _FILE],
    name: Annotated[str | None, _NAME] = None,
    head: Annotated[int | None, _HEAD] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Show entropy, distance, class and a picture of each head of attention weights."""
    if html is not None:
        check_page_name(html)
    try:
        from attn_drill.tools.attention_heads import describe, heads_of
        from attn_drill.tools.weight_files import read_weights
    except ImportError as error:
        raise GraderError(
            f"torch cannot be imported: {error}. "
            "Install attn-drill again; the README has the command."
        ) from None
    from attn_drill.report import heads_page, heads_text
    from attn_drill.report.literal import console

    all_heads = heads_of(read_weights(file, name))
    if head is not None and not 0 <= head < len(all_heads):
        raise DrillError(f"--head is {head}; {file} has heads 0 to {len(all_heads) - 1}.")
    chosen = all_heads if head is None else [all_heads[head]]
    out, is_whole = console(), head is not None
    # A page has more pictures than a terminal, and JSON has none.
    cells: Callable[[int], tuple[int, int]]
    if html is not None:
        cells, drawn = partial(heads_page.page_cells, whole=is_whole), MOST_IN_HTML
    else:
        cells = partial(heads_text.cells, width=out.width, whole=is_whole)
        drawn = 0 if as_json else heads_text.MOST_DRAWN
    facts = []
    for index, attention_head in enumerate(chosen):
        facts.append(describe(attention_head, cells if index < drawn else None))
    if html is not None:
        write_page(html, heads_page.heads_page(facts, str(file)))
    if as_json:
        typer.echo(json.dumps(heads_text.as_object(facts, str(file)), allow_nan=False))
    elif html is not None:
        shown = min(len(chosen), MOST_IN_HTML)
        typer.echo(f"{html} is written, with pictures of {shown} of {len(chosen)} heads.")
    else:
        out.print(heads_text.render(facts, str(file), out.width, whole=is_whole))
