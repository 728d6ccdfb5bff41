"""`attn-drill list`: the challenges, with title and the learner's state."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn, warn_journal
from trainer.model.challenge import Challenge
from trainer.practice.journal import default_journal
from trainer.practice.progress import progress_of
from trainer.report.visible import visible

_LEAST_TITLE = 30  # columns, so that a title takes at most two lines


def list_challenges(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the challenges with title, level, minutes and state."""
    known_packs: KnownPacks = context.obj
    catalogue = known_packs.catalogue()
    warn(catalogue.troubles)
    journal = default_journal()
    progress = progress_of(journal.facts())
    warn_journal(journal)
    rows = [
        _Row(
            challenge,
            progress[challenge.id].state if challenge.id in progress else "new",
            "" if pack.how == "built in" else pack.name,
        )
        for challenge in catalogue.challenges
        for pack in (catalogue.pack_of(challenge),)
    ]
    if as_json:
        typer.echo(json.dumps([row.as_values() for row in rows], indent=2, ensure_ascii=False))
        return
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    colours = {"passed": "blue", "started": "yellow"} if is_coloured else {}
    for line in _table(rows, shutil.get_terminal_size((80, 24)).columns, colours):
        typer.echo(line)
    typer.echo("\nattn-drill start ID hands out a challenge.")


@dataclass(frozen=True)
class _Row:
    """A challenge, the learner's state, and the name of its pack; "" for the built-in pack."""

    challenge: Challenge
    state: str
    pack: str

    @property
    def title(self) -> str:
        """The title as it is shown, and after it the name of the pack."""
        pack = f" ({self.pack})" if self.pack else ""
        return visible(self.challenge.title + pack)

    def as_values(self) -> dict[str, object]:
        """Return the row as plain values for JSON."""
        return {
            "id": self.challenge.id,
            "title": self.challenge.title,
            "level": self.challenge.level,
            "minutes": self.challenge.minutes,
            "asked": self.challenge.asked,
            "builds_on": list(self.challenge.builds_on),
            "state": self.state,
            "pack": self.pack or None,
        }


def _table(rows: Sequence[_Row], width: int, colours: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a table with as many columns as fit, the most important first.

    Args:
        rows: the challenges.
        width: the columns of the terminal.
        colours: the colour of each state that has one.
    """
    cells: dict[str, list[str]] = {
        "challenge": [row.challenge.id for row in rows],
        "level": [row.challenge.level for row in rows],
        "min": [f"{row.challenge.minutes:>3}" for row in rows],
        "state": [row.state for row in rows],
        "asked": [row.challenge.asked for row in rows],
        "builds on": [", ".join(row.challenge.builds_on) for row in rows],
    }
    sizes = {name: max(map(len, [name, *column])) for name, column in cells.items()}
    room = width - sum(sizes[name] + 2 for name in ("challenge", "level", "min", "state"))
    for name in ("asked", "builds on"):
        if room - sizes[name] - 2 < _LEAST_TITLE:
            del cells[name]
        else:
            room -= sizes[name] + 2
    # On a narrow terminal a title has its own line.
    title_size = min(room, max((len(row.title) for row in rows), default=5))
    has_column = room >= _LEAST_TITLE

    def line(values: Sequence[str], title: str) -> str:
        padded = [
            typer.style(value, fg=colours[value]) + " " * (sizes[name] - len(value))
            if value in colours
            else f"{value:<{sizes[name]}}"
            for name, value in zip(cells, values, strict=True)
        ]
        titles = [f"{title:<{title_size}}"] if has_column else []
        return "  ".join([padded[0], *titles, *padded[1:]]).rstrip()

    yield line(list(cells), "title")
    for row, values in zip(rows, zip(*cells.values(), strict=True), strict=True):
        size = title_size if has_column else max(20, width - 2)
        titles = textwrap.wrap(row.title, size, break_on_hyphens=False)
        yield line(values, titles[0])
        indent = sizes["challenge"] + 2 if has_column else 2
        yield from (" " * indent + part for part in titles[1 if has_column else 0 :])
