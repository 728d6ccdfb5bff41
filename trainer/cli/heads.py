"""`attn-drill heads FILE`: describe the heads of saved attention weights."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.page_files import check_page_name, write_page
from trainer.model.errors import DrillError, GraderError

MOST_IN_HTML = 512


def heads(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Weights [..., L, L] in .safetensors, .npy or .npz.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="TENSOR", help="Only this tensor of the file.")
    ] = None,
    head: Annotated[
        int | None, typer.Option("--head", metavar="N", help="Only this head, in full size.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT.html", help="Write one HTML file with a picture of every head."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout and nothing else.")
    ] = False,
) -> None:
    """Show entropy, distance, class and a picture of each head of attention weights."""
    if html is not None:
        check_page_name(html)
    try:
        from trainer.tools.attention_heads import count_heads, facts_of
        from trainer.tools.weight_files import read_weights
    except ImportError as error:
        raise GraderError(
            f"torch cannot be imported: {error}. "
            "Install attn-drill again; the README has the command."
        ) from None
    tensors = read_weights(file, name)
    count = count_heads(tensors)
    if head is not None and not 0 <= head < count:
        raise DrillError(f"--head is {head}; {file} has heads 0 to {count - 1}.")
    is_whole = head is not None
    chosen = range(count) if head is None else range(head, head + 1)
    from trainer.report import heads_text
    from trainer.report.literal import console

    if html is not None:
        from trainer.report.heads_page import cells, to_html

        cells_of = partial(cells, whole=is_whole)
        facts = list(facts_of(tensors, chosen, chosen[:MOST_IN_HTML], cells_of))
        write_page(html, to_html(facts, str(file)))
    elif as_json:
        facts = list(facts_of(tensors, chosen, range(0), heads_text.cells))
    else:
        cells_of = partial(heads_text.cells, width=console().width, whole=is_whole)
        facts = list(facts_of(tensors, chosen, chosen[: heads_text.MOST_DRAWN], cells_of))
    if as_json:
        typer.echo(json.dumps(heads_text.as_object(facts, str(file)), allow_nan=False))
    elif html is not None:
        drawn = min(len(chosen), MOST_IN_HTML)
        typer.echo(f"{html} is written, with pictures of {drawn} of {len(chosen)} heads.")
    else:
        out = console()
        out.print(heads_text.render(facts, str(file), out.width, whole=is_whole))
