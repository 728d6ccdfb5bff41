"""`attn-drill tools compare`: compare parameters and KV cache of MHA, GQA, MQA and MLA."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def _complete_preset(incomplete: str) -> list[str]:
    from attn_drill.tools.attention_costs import PRESETS

    return [preset.name for preset in PRESETS if preset.name.lower().startswith(incomplete.lower())]


def compare(
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A published model, e.g. Llama-3-8B.",
            autocompletion=_complete_preset,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set d_model, num_heads, num_kv_heads, head_dim, seq_len, batch, num_layers, "
            "dtype, or for MLA kv_rank, rope_dim, q_rank. Give it again, or add ,NAME=VALUE.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
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
