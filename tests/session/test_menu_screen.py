"""The menu of challenges, driven by Textual's pilot."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.support.menu import ENTRIES, NOW, PASSED_IN_SHORT
from trainer.practice.statistics import Stats
from trainer.session.menu_screen import MenuApp, MenuChoice


def drive(
    script: Callable[[Pilot[MenuChoice]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
    stats: Stats = PASSED_IN_SHORT,
) -> MenuChoice | None:
    """Run the menu without a terminal and return the choice."""
    app = MenuApp(ENTRIES, stats, lambda: NOW)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())
    return app.return_value


def name_of(choice: MenuChoice | None) -> str:
    """Return the command and the challenge of a choice."""
    assert choice is not None
    return f"{choice.command} {choice.entry.challenge.id if choice.entry else ''}".strip()


def screen(pilot: Pilot[MenuChoice]) -> str:
    """Return the drawn screen as text."""
    return "\n".join(
        "".join(segment.text for segment in line)
        for line in pilot.app.screen._compositor.render_strips()
    )


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (200, 50)], ids=["80x24", "60x20", "200x50"])
def test_sections_come_in_order_and_fit(size: tuple[int, int]) -> None:
    """Each section has its count."""

    async def script(pilot: Pilot[MenuChoice]) -> None:
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

    async def first(pilot: Pilot[MenuChoice]) -> None:
        await pilot.press(*"latent hard")
        assert "mla" in screen(pilot)
        assert "gqa" not in screen(pilot)
        await pilot.press("enter")

    chosen = drive(first)
    assert name_of(chosen) == "start mla"

    async def second(pilot: Pilot[MenuChoice]) -> None:
        await pilot.press("down", "enter")

    chosen = drive(second)
    assert name_of(chosen) == "start mha"

    async def nothing(pilot: Pilot[MenuChoice]) -> None:
        await pilot.press(*"zzz", "enter")
        assert "Nothing matches 'zzz'" in screen(pilot)
        await pilot.press("escape")

    assert drive(nothing) is None


@pytest.mark.thorough
def test_tab_keeps_the_focus_in_the_line(tmp_path: Path) -> None:
    """After Tab, typing still filters and Enter still starts."""

    async def script(pilot: Pilot[MenuChoice]) -> None:
        await pilot.press("tab", *"latent hard", "shift+tab", "enter")

    chosen = drive(script)
    assert name_of(chosen) == "start mla"


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(80, 24), (50, 20)], ids=["80x24", "50x20"])
def test_progress_is_above_the_challenges(size: tuple[int, int]) -> None:
    """The row of a passed challenge has its best time. A time under a minute is 1 min."""

    async def script(pilot: Pilot[MenuChoice]) -> None:
        lines = screen(pilot).splitlines()
        assert lines[0].strip() == f"3 of {len(ENTRIES)} passed   3 days in a row"
        assert [line.split("best")[1].split()[0] for line in lines if "best" in line] == ["14"]
        await pilot.press(*"sdpa")
        assert "best 1 min" in screen(pilot)

    drive(script, size)


def test_new_learner_sees_no_streak() -> None:
    """A streak of a day is singular."""

    async def new(pilot: Pilot[MenuChoice]) -> None:
        assert screen(pilot).splitlines()[0].strip() == "0 of 18 passed"

    async def second(pilot: Pilot[MenuChoice]) -> None:
        assert "1 day in a row" in screen(pilot).splitlines()[0]

    drive(new, stats=Stats(challenges=18))
    drive(second, stats=Stats(challenges=18, streak=1))


@pytest.mark.parametrize("command", ["quiz", "hunt"])
def test_commands_are_rows_of_the_menu(command: str) -> None:
    """The filter finds them, and Enter chooses them."""

    async def script(pilot: Pilot[MenuChoice]) -> None:
        await pilot.press(*command)
        assert "More" in screen(pilot)
        while command not in highlighted(pilot):
            await pilot.press("down")
        await pilot.press("enter")

    assert name_of(drive(script)) == command


def highlighted(pilot: Pilot[MenuChoice]) -> str:
    """Return the text of the row under the cursor."""
    option = pilot.app.query_one(OptionList).highlighted_option
    assert option is not None
    return str(option.prompt)


def test_commands_are_below_all_challenges() -> None:
    """The cursor starts at the first challenge, so Enter alone still starts it."""

    async def script(pilot: Pilot[MenuChoice]) -> None:
        names = [
            str(option.prompt).split()[0] for option in pilot.app.query_one(OptionList).options
        ]
        assert names[-6:] == ["More", "quiz", "interview", "hunt", "review", "stats"]
        await pilot.press("enter")

    assert name_of(drive(script)) == "start gqa"


@pytest.mark.thorough
def test_hunt_takes_the_challenge_under_the_cursor() -> None:
    """If another row is under the cursor, any passed challenge will do."""

    async def on_a_challenge(pilot: Pilot[MenuChoice]) -> None:
        assert "Ctrl-T bug hunt" in screen(pilot)
        await pilot.press("down", "ctrl+t")

    async def on_a_command(pilot: Pilot[MenuChoice]) -> None:
        await pilot.press(*"stats", "ctrl+t")

    assert name_of(drive(on_a_challenge)) == "hunt mha"
    assert name_of(drive(on_a_command)) == "hunt"
