"""`attn-drill compare`: compare parameters and KV cache of MHA, GQA, MQA and MLA."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

# Every start of attn-drill imports the modules of all commands, so this module imports its tools
# only when the command runs.
if TYPE_CHECKING:
    from trainer.tools.attention_costs import Configuration, Cost
    from trainer.tools.decode_steps import Measured


def _complete_preset(incomplete: str) -> list[str]:
    from trainer.tools.attention_costs import PRESETS

    return [preset.name for preset in PRESETS if preset.name.lower().startswith(incomplete.lower())]


def _complete_dtype(incomplete: str) -> list[str]:
    from trainer.tools.attention_costs import ELEMENT_BYTES

    return [name for name in ELEMENT_BYTES if name.startswith(incomplete)]


def compare(
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A published model, e.g. Llama-3-8B.",
            autocompletion=_complete_preset,
        ),
    ] = None,
    d_model: Annotated[
        int | None, typer.Option(metavar="N", help="Width of the model; by default 4096.")
    ] = None,
    heads: Annotated[
        int | None, typer.Option(metavar="N", help="Query heads; by default 32.")
    ] = None,
    kv_heads: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Key/value heads of GQA; by default a row for 8 and a row for 4."
        ),
    ] = None,
    head_dim: Annotated[
        int | None, typer.Option(metavar="N", help="Width of a head; by default d_model / heads.")
    ] = None,
    seq_len: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens in the cache; by default 2048.")
    ] = None,
    batch: Annotated[int | None, typer.Option(metavar="N", help="Sequences; by default 1.")] = None,
    layers: Annotated[
        int | None, typer.Option(metavar="N", help="Layers; their costs are summed; by default 1.")
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=(
                "float64 to float16, bfloat16, float8, int8; "
                "by default the preset's dtype, or else float32."
            ),
            autocompletion=_complete_dtype,
        ),
    ] = None,
    kv_rank: Annotated[
        int | None, typer.Option(metavar="N", help="Width of MLA's latent; by default 4 head_dim.")
    ] = None,
    rope_dim: Annotated[
        int | None,
        typer.Option(metavar="N", help="Width of MLA's rotary key; by default head_dim / 2."),
    ] = None,
    q_rank: Annotated[
        int | None,
        typer.Option(metavar="N", help="Rank of MLA's query; by default it has no low-rank pair."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Also time a decode step, relative to MHA.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare parameters and KV cache of MHA, GQA, MQA and MLA."""
    from trainer.report.cost_table import as_values, render
    from trainer.report.literal import console
    from trainer.tools.attention_costs import configure, costs, find_preset

    published = None if preset is None else find_preset(preset)
    configuration = configure(
        published,
        dtype,
        d_model=d_model,
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        seq_len=seq_len,
        batch=batch,
        num_layers=layers,
        kv_rank=kv_rank,
        rope_dim=rope_dim,
        q_rank=q_rank,
    )
    rows = costs(configuration)
    measured = _measured(configuration, rows) if measure else None
    if as_json:
        typer.echo(json.dumps(as_values(configuration, published, rows, measured), indent=2))
        return
    out = console()
    out.print(render(configuration, published, rows, measured, out.width))


def _measured(configuration: Configuration, rows: list[Cost]) -> Measured:
    from trainer.tools.attention_costs import check_measurable

    check_measurable(configuration, rows)
    if sys.stderr.isatty():
        typer.echo("Measuring for a few seconds.", err=True)
    from trainer.tools.decode_steps import Sizes, measure

    sizes = Sizes(
        configuration.batch,
        configuration.seq_len,
        configuration.d_model,
        configuration.num_heads,
        configuration.head_dim,
        configuration.kv_rank,
        configuration.rope_dim,
        configuration.q_rank,
        configuration.dtype,
    )
    return measure(sizes, [row.num_kv_heads for row in rows], seconds=3.0, clock=time.perf_counter)
