"""`attn-drill conventions [ID]`: show where public code disagrees, and what is graded here."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from attn_drill.app.start_challenge import language
from attn_drill.app.warn import say_json
from attn_drill.cli.parameters import AsJson, Desk, complete_id
from attn_drill.packs import pack_reader

SCHEMA = "attn-drill.conventions/1"
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
    as_json: AsJson = False,
) -> None:
    """Show where public code disagrees, and what is graded here."""
    from attn_drill.cli.practise import show_prompt

    page = _LINK_TARGET.sub("", pack_reader.conventions(language()))
    sections = sections_of(page)
    if challenge_id is not None:
        desk: Desk = context.obj
        challenge_id = desk.packs.find(challenge_id).id
        sections = [section for section in sections if f"[{challenge_id}]" in section]
    if as_json:
        say_json({"schema": SCHEMA, "challenge": challenge_id, "sections": sections})
    elif not sections:
        typer.echo(f"The page of conventions has nothing about {challenge_id}.")
    else:
        show_prompt("\n\n".join(sections))


def sections_of(page: str) -> list[str]:
    """Return the sections of a page, each with its heading.

    >>> sections_of("# Page\\n\\n## Scale\\nfor [mha]\\n\\n### Mask\\nfor [sdpa]\\n")
    ['# Page', '## Scale\\nfor [mha]', '### Mask\\nfor [sdpa]']
    """
    return [section.strip() for section in re.split(r"(?m)^(?=##+ )", page)]
