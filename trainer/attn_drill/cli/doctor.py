"""`attn-drill doctor`: show versions, packs, settings, the journal, and the isolation here."""

from __future__ import annotations

import os
import platform
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import typer

from attn_drill import __version__
from attn_drill.app.open_packs import KnownPacks
from attn_drill.app.settings import config_path, settings, sources
from attn_drill.app.warn import say_json, warn
from attn_drill.cli.parameters import AsJson, Desk
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.practice.progress import progress_of

# The versions of torch with which the tests of attn-drill run. Others from 2.6 on should work.
_TESTED_TORCH = "2.13.0; a workflow of the repository tests 2.6 and the newest"
_PACKAGES = ("torch", "numpy", "typer", "rich", "msgspec", "textual", "watchfiles", "fsrs")
_MEANS = {
    "kernel": "Landlock, seccomp, limits, no capabilities",
    "bubblewrap": "bubblewrap, seccomp, limits",
    "limits": "limits only",
}


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
    from attn_drill.worker.selftest import run_selftest

    forkserver_client.prepare()  # torch is imported here already
    result = run_selftest(hidden)
    held = {attempt: "held" if held else "OPEN" for attempt, held in result.refused.items()}
    works = {feature: "works" if works else "FAILS" for feature, works in result.works.items()}
    return {"by": _MEANS[result.isolation], **held, **works}
