"""`attn-drill conventions [ID]`: show where public code disagrees, and what is graded here."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from attn_drill.app.open_packs import KnownPacks
from attn_drill.app.start_challenge import language
from attn_drill.cli.parameters import complete_id
from attn_drill.packs import pack_reader

# The page ends with the addresses of its links, which only a web page needs.
_LINK_TARGET = re.compile(r"(?m)^\[[a-z-]+\]: .*\n?")


def conventions(
    context: typer.Context,
    challenge_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", help="Only what matters for this challenge.", autocompletion=complete_id
        ),
    ] = None,
) -> None:
    """Show where public code disagrees, and what is graded here."""
    page = _LINK_TARGET.sub("", pack_reader.conventions(language())).rstrip()
    if challenge_id is not None:
        known_packs: KnownPacks = context.obj
        page = about(page, known_packs.find(challenge_id).id)
        if not page:
            typer.echo(f"The page of conventions has nothing about {challenge_id}.")
            return
    from attn_drill.cli.practise import show_prompt

    show_prompt(page)


def about(page: str, challenge_id: str) -> str:
    """Return the sections of a page that link to a challenge; "" if there are none.

    >>> about("# Page\\n### Scale\\nfor [mha]\\n### Mask\\nfor [sdpa]", "sdpa")
    '### Mask\\nfor [sdpa]'
    """
    sections = re.split(r"(?m)^(?=##+ )", page)
    matching = [section.strip() for section in sections if f"[{challenge_id}]" in section]
    return "\n\n".join(matching)
