"""`attn-drill tools compare`, `tools heads` and `doctor`."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from attn_drill import __version__
from attn_drill.app.open_packs import KnownPacks, config_path, settings, sources
from attn_drill.app.warn import say_json, warn
from attn_drill.cli._command_line import AsJson, Desk, Html, check_page_name, write_page
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.packs import pack_reader
from attn_drill.practice.progress import progress_of

MOST_IN_HTML = 512

# Options of `heads`.
_FILE = typer.Argument(metavar="FILE", help="Weights [..., L, L] in .safetensors, .npy or .npz.")
_NAME = typer.Option(metavar="TENSOR", help="Only this tensor of the file.")
_HEAD = typer.Option(metavar="N", help="Only this head, in full size.")

# The versions of torch with which the tests of attn-drill run. Others from 2.6 on should work.
_TESTED_TORCH = "2.13.0; a workflow of the repository tests 2.6 and the newest"
_PACKAGES = ("torch", "numpy", "typer", "rich", "msgspec", "textual", "watchfiles", "fsrs")
_MEANS = {
    "kernel": "Landlock, seccomp, limits, no capabilities",
    "bubblewrap": "bubblewrap, seccomp, limits",
    "limits": "limits only",
}


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
    from attn_drill.report.code_text import console
    from attn_drill.report.tools_text import costs_as_values, render_costs
    from attn_drill.tools.attention_costs import configure, costs, find_preset

    published = None if preset is None else find_preset(preset)
    configuration = configure(published, settings or ())
    rows = costs(configuration)
    if as_json:
        typer.echo(json.dumps(costs_as_values(configuration, published, rows), indent=2))
        return
    out = console()
    out.print(render_costs(configuration, published, rows, out.width))


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
        from attn_drill.tools.attention_heads import describe, heads_of, read_weights
    except ImportError as error:
        raise GraderError(
            f"torch cannot be imported: {error}. "
            "Install attn-drill again; the README has the command."
        ) from None
    from attn_drill.report import tools_text
    from attn_drill.report.code_text import console

    all_heads = heads_of(read_weights(file, name))
    if head is not None and not 0 <= head < len(all_heads):
        raise DrillError(f"--head is {head}; {file} has heads 0 to {len(all_heads) - 1}.")
    chosen = all_heads if head is None else [all_heads[head]]
    out, is_whole = console(), head is not None
    # A page has more pictures than a terminal, and JSON has none.
    cells: Callable[[int], tuple[int, int]]
    if html is not None:
        from attn_drill.report import pages

        cells, drawn = partial(pages.page_cells, whole=is_whole), MOST_IN_HTML
    else:
        cells = partial(tools_text.cells, width=out.width, whole=is_whole)
        drawn = 0 if as_json else tools_text.MOST_DRAWN
    facts = []
    for index, attention_head in enumerate(chosen):
        facts.append(describe(attention_head, cells if index < drawn else None))
    if html is not None:
        write_page(html, pages.heads_page(facts, str(file)))
    if as_json:
        typer.echo(json.dumps(tools_text.heads_as_object(facts, str(file)), allow_nan=False))
    elif html is not None:
        shown = min(len(chosen), MOST_IN_HTML)
        typer.echo(f"{html} is written, with pictures of {shown} of {len(chosen)} heads.")
    else:
        out.print(tools_text.render_heads(facts, str(file), out.width, whole=is_whole))


def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Show versions and what this machine supports."""
    desk: Desk = context.obj
    chosen: dict[str, Any] | str
    try:
        values, places = msgspec.to_builtins(settings()), sources()
        chosen = {key: {"value": values[key], "from": places[key]} for key in places}
        catalogue = desk.packs.catalogue()
    except DrillError as error:
        # The mistake may be in config.toml. If it is in --pack, it stops the command here.
        catalogue = KnownPacks().naming(desk.named).catalogue()
        chosen = str(error)
    warn(catalogue.troubles)
    journal = desk.journal
    progress_of(journal.facts())  # opens the file
    counts = Counter(catalogue.pack_of(challenge).root for challenge in catalogue.challenges)
    facts: dict[str, Any] = {
        "attn-drill": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "packs": {
            str(pack.root): f"{counts[pack.root]} challenges ({pack.name}, {pack.how})"
            for pack in catalogue.packs
        },
        "settings": chosen,
        "config.toml": str(config_path()),
        "journal": journal.trouble or str(journal.path),
    }
    # A terminal shows this at once, because the isolation takes seconds to try.
    if not as_json:
        _show(facts)
    hidden = (root / part for root in catalogue.roots for part in ("challenges", "solutions"))
    isolation = _isolation([pack_reader.PACKAGE, *hidden])
    if as_json:
        say_json({**facts, "isolation": isolation})
        return
    typer.echo(f"isolation   {isolation.pop('by')}; each attempt was tried just now:")
    for attempt, result in isolation.items():
        typer.echo(f"  {result:<5}  {attempt}")
    if "OPEN" in isolation.values():
        typer.echo(
            "Isolation is limited on this machine: check your own files only. "
            "`class grade` refuses without --allow-weaker-isolation."
        )


def _show(facts: dict[str, Any]) -> None:
    for key, value in facts.items():
        if not isinstance(value, dict):
            typer.echo(f"{key:<11} {value}")
            continue
        typer.echo(key)
        for name, detail in value.items():
            if isinstance(detail, dict):  # a setting
                setting = "-" if detail["value"] in (None, ()) else detail["value"]
                detail = f"{setting} ({detail['from']})"
            typer.echo(f"  {name:<14} {detail}")


def _version(name: str) -> str:
    from importlib import metadata  # takes time at the start of every command

    tested = f" (tested with {_TESTED_TORCH})" if name == "torch" else ""
    try:
        return metadata.version(name) + tested
    except metadata.PackageNotFoundError:
        return "is missing: install attn-drill again"


def _isolation(hidden: list[Path]) -> dict[str, str]:
    """Return the result of each attempt to break out of the sandbox."""
    if not hasattr(os, "fork"):
        advice = "Use Linux, macOS or the Windows Subsystem for Linux (WSL)"
        return {"by": f"none: this system has no fork, so nothing can be graded. {advice}"}
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from attn_drill.worker import forkserver_client
    from attn_drill.worker.selftest import selftest

    forkserver_client.prepare()  # torch is imported here already
    with closing(forkserver_client.ForkServer(hidden)) as fork_server:
        result = selftest(fork_server, hidden)
    held = {attempt: "held" if held else "OPEN" for attempt, held in result.refused.items()}
    works = {feature: "works" if works else "FAILS" for feature, works in result.works.items()}
    return {"by": _MEANS[result.isolation], **held, **works}
