"""The menu of challenges, driven by Textual's pilot."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.menu import ENTRIES, NOW
from trainer.practice.agenda import AgendaEntry
from trainer.session.menu_screen import MenuApp


def drive(
    script: Callable[[Pilot[AgendaEntry]], Awaitable[None]], size: tuple[int, int] = (80, 24)
) -> AgendaEntry | None:
    """Run the menu without a terminal and return the chosen entry."""
    app = MenuApp(ENTRIES, lambda: NOW)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())
    return app.return_value


def screen(pilot: Pilot[AgendaEntry]) -> str:
    """Return the drawn screen as text."""
    return "\n".join(
        "".join(segment.text for segment in line)
        for line in pilot.app.screen._compositor.render_strips()
    )


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (200, 50)], ids=["80x24", "60x20", "200x50"])
def test_sections_come_in_order_and_fit(size: tuple[int, int]) -> None:
    """Each section has its count."""

    async def script(pilot: Pilot[AgendaEntry]) -> None:
        drawn = screen(pilot)
        new = sum(entry.section == "new" for entry in ENTRIES)
        assert (
            drawn.index("Due today (2)")
            < drawn.index("gqa")
            < drawn.index("mha")
            < drawn.index("Under way (1)")
            < drawn.index(f"New ({new})")
        )
        assert len(drawn.splitlines()) == size[1]

    drive(script, size)


def test_typing_filters_and_enter_starts() -> None:
    """Words match the id, title, topic and level.

    Enter takes the first match, and the arrow keys take another one. If nothing matches, Enter does
    nothing.
    """

    async def first(pilot: Pilot[AgendaEntry]) -> None:
        await pilot.press(*"latent hard")
        assert "mla" in screen(pilot)
        assert "gqa" not in screen(pilot)
        await pilot.press("enter")

    chosen = drive(first)
    assert chosen is not None
    assert chosen.challenge.id == "mla"

    async def second(pilot: Pilot[AgendaEntry]) -> None:
        await pilot.press("down", "enter")

    chosen = drive(second)
    assert chosen is not None
    assert (chosen.challenge.id, chosen.section) == ("mha", "due")

    async def nothing(pilot: Pilot[AgendaEntry]) -> None:
        await pilot.press(*"zzz", "enter")
        assert "Nothing matches 'zzz'" in screen(pilot)
        await pilot.press("escape")

    assert drive(nothing) is None


def test_tab_keeps_the_focus_in_the_line(tmp_path: Path) -> None:
    """After Tab, typing still filters and Enter still starts."""

    async def script(pilot: Pilot[AgendaEntry]) -> None:
        await pilot.press("tab", *"latent hard", "shift+tab", "enter")

    chosen = drive(script)
    assert chosen is not None
    assert chosen.challenge.id == "mla"
