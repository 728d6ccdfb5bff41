"""The menu of challenges, driven by Textual's pilot."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from attn_drill.packs.catalogue import Route
from attn_drill.practice.progress import route_states
from attn_drill.practice.schedule import agenda
from attn_drill.practice.statistics import Stats
from attn_drill.session._menu_screen import Menu, MenuChoice, MenuScreen
from tests.support.cli import CHALLENGES, ENTRIES, NOW, PASSED_IN_SHORT
from tests.support.session import drive as drive_screen
from tests.support.session import screen

TOPICS = {challenge.topic: f"Topic {challenge.topic}" for challenge in CHALLENGES}


def drive(
    script: Callable[[Pilot[Any]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
    stats: Stats = PASSED_IN_SHORT,
    **options: Any,
) -> MenuChoice | None:
    """Run the menu without a terminal and return the choice."""
    menu = Menu(
        options.pop("entries", ENTRIES),
        options.pop("recommended", ENTRIES[0]),
        TOPICS,
        lambda entry: f"Enter writes {entry.challenge.file_name}.",
        stats,
        NOW,
        **options,
    )
    return drive_screen(MenuScreen(menu), script, size)


def name_of(choice: MenuChoice | None) -> str:
    """Return the command and the challenge of a choice."""
    assert choice is not None
    return f"{choice.command} {choice.entry.challenge.id if choice.entry else ''}".strip()


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (200, 50)], ids=["80x24", "60x20", "200x50"])
def test_recommended_then_due_then_under_way_then_topics(size: tuple[int, int]) -> None:
    """All rows fit, and every topic has its title."""

    async def script(pilot: Pilot[Any]) -> None:
        drawn = screen(pilot)
        assert len(drawn.splitlines()) == size[1]
        assert drawn.index("Recommended") < drawn.index("gqa") < drawn.index("Due today")
        titles = [str(option.prompt) for option in options(pilot) if option.disabled]
        assert titles[:3] == ["Recommended", "Due today", "Under way"]
        assert titles[3:-1] == [title for title in TOPICS.values() if title in titles]
        assert titles[-1] == "More"

    drive(script, size)


def options(pilot: Pilot[Any]) -> list[Option]:
    """Return the rows and the titles."""
    return list(pilot.app.screen.query_one(OptionList).options)


def test_route_that_is_not_completed_is_a_row_that_starts_its_next_challenge() -> None:
    """A completed route has no row."""
    routes = [Route("One evening", ("gqa", "mha")), Route("An hour", ("gqa",))]
    states = route_states(routes, {"gqa"})
    assert [str(state) for state in states] == ["1 of 2, next: mha", "1 of 1, all passed"]

    async def script(pilot: Pilot[Any]) -> None:
        rows = [str(option.prompt) for option in options(pilot)]
        place = rows.index("Routes")
        assert rows[place + 1].split() == "One evening 1 of 2, next: mha".split()
        assert rows[place + 2] == "Due today"
        await pilot.press(*["down"] * 1, "enter")

    assert name_of(drive(script, routes=states)) == "start mha"


def test_row_under_the_cursor_says_what_enter_does() -> None:
    """The file is named, and the sentence about the last command goes with the first key."""

    async def script(pilot: Pilot[Any]) -> None:
        assert "The last command failed." in screen(pilot)
        await pilot.press("down")
        await pilot.pause()
        assert "The last command failed." not in screen(pilot)
        assert "Enter writes gqa.py." in screen(pilot)

    drive(script, notice="The last command failed.")


def test_new_learner_sees_what_this_is_and_where_to_start() -> None:
    """Enter takes the recommended challenge."""
    entries = agenda(CHALLENGES, {}, [], NOW)
    sdpa = next(entry for entry in entries if entry.challenge.id == "sdpa")

    async def script(pilot: Pilot[Any]) -> None:
        lines = [line.strip() for line in screen(pilot).splitlines()]
        assert lines[0].startswith("Write attention in PyTorch from memory.")
        assert lines[1] == "0 of 18 passed"
        assert "Recommended" in lines
        assert "Due today" not in lines
        await pilot.press("enter")

    chosen = drive(script, stats=Stats(challenges=18), entries=entries, recommended=sdpa)
    assert name_of(chosen) == "start sdpa"


def test_typing_filters_and_enter_starts() -> None:
    """Words match the id, title, topic and level.

    Enter takes the first match, and the arrow keys take another one. If nothing matches, Enter does
    nothing.
    """

    async def first(pilot: Pilot[Any]) -> None:
        await pilot.press(*"latent hard")
        assert "mla" in screen(pilot)
        assert "gqa" not in screen(pilot)
        await pilot.press("enter")

    chosen = drive(first)
    assert name_of(chosen) == "start mla"

    async def second(pilot: Pilot[Any]) -> None:
        await pilot.press("down", "down", "enter")

    chosen = drive(second)
    assert name_of(chosen) == "start mha"

    async def nothing(pilot: Pilot[Any]) -> None:
        await pilot.press(*"zzz", "enter")
        assert "Nothing matches 'zzz'" in screen(pilot)
        await pilot.press("escape")

    assert drive(nothing) is None


@pytest.mark.thorough
def test_tab_keeps_the_focus_in_the_line(tmp_path: Path) -> None:
    """After Tab, typing still filters and Enter still starts."""

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("tab", *"latent hard", "shift+tab", "enter")

    chosen = drive(script)
    assert name_of(chosen) == "start mla"


def test_progress_is_above_the_challenges() -> None:
    """The row of a passed challenge has its best time. A time under a minute is 1 min."""

    async def script(pilot: Pilot[Any]) -> None:
        assert screen(pilot).splitlines()[1].strip() == (
            f"3 of {len(ENTRIES)} passed   3 days in a row"
        )
        await pilot.press(*"sdpa")
        assert "best 1 min, due" in screen(pilot)

    async def second(pilot: Pilot[Any]) -> None:
        assert "1 day in a row" in screen(pilot)

    drive(script)
    drive(second, stats=Stats(challenges=18, streak=1))


@pytest.mark.parametrize("command", ["quiz", "hunt"])
def test_commands_are_rows_of_the_menu(command: str) -> None:
    """The filter finds them, and Enter chooses them."""

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press(*command)
        assert "More" in screen(pilot)
        while command not in highlighted(pilot):
            await pilot.press("down")
        await pilot.press("enter")

    assert name_of(drive(script)) == command


def highlighted(pilot: Pilot[Any]) -> str:
    """Return the text of the row under the cursor."""
    option = pilot.app.screen.query_one(OptionList).highlighted_option
    assert option is not None
    return str(option.prompt)


def test_commands_are_below_all_challenges() -> None:
    """The cursor starts at the first challenge, so Enter alone still starts it."""

    async def script(pilot: Pilot[Any]) -> None:
        names = [str(option.prompt).split()[0] for option in options(pilot)]
        assert names[-6:] == ["More", "quiz", "interview", "hunt", "review", "stats"]
        await pilot.press("enter")

    assert name_of(drive(script)) == "start gqa"


@pytest.mark.thorough
def test_hunt_takes_the_challenge_under_the_cursor() -> None:
    """If another row is under the cursor, any passed challenge will do."""

    async def on_a_challenge(pilot: Pilot[Any]) -> None:
        assert "ctrl+t bug hunt" in screen(pilot)
        await pilot.press("down", "down", "ctrl+t")

    async def on_a_command(pilot: Pilot[Any]) -> None:
        await pilot.press(*"stats", "ctrl+t")

    assert name_of(drive(on_a_challenge)) == "hunt mha"
    assert name_of(drive(on_a_command)) == "hunt"
