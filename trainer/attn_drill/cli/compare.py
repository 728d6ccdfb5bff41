"""`attn-drill tools compare`: compare parameters and KV cache of MHA, GQA, MQA and MLA."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from attn_drill.cli.parameters import AsJson


def compare(
    preset: Annotated[str | None, typer.Option(help="A model, e.g. Llama-3-8B.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set d_model, num_heads, num_kv_heads, head_dim, seq_len, batch, num_layers, "
            "dtype, or for MLA kv_rank, rope_dim, q_rank. Give it again, or add ,NAME=VALUE.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare parameters and KV cache of MHA, GQA, MQA and MLA."""
    # Every start of attn-drill imports this module, so it imports its tools only here.
    from attn_drill.report.cost_table import as_values, render
    from attn_drill.report.literal import console
    from attn_drill.tools.attention_costs import configure, costs, find_preset

    published = None if preset is None else find_preset(preset)
    configuration = configure(published, settings or ())
    rows = costs(configuration)
    if as_json:
        typer.echo(json.dumps(as_values(configuration, published, rows), indent=2))
        return
    out = console()
    out.print(render(configuration, published, rows, out.width))
