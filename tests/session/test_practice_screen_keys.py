"""Every key of the session's footer, at every width and in every state: it does something that is seen."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.fake_grader import FakeGrader
from tests.support.session import GQA, app_on, screen, until, words
from tests.support.session_keys import run_app
from trainer.practice.journal import Journal
from trainer.server.messages import Reply
from trainer.session.model import SessionResult, Sitting
from trainer.session.practice_screen import SessionApp

WIDTHS = (40, 60, 80, 109, 110, 140)


EDGES = (40, 109, 110)  # the narrowest, and where the layout changes


class SilentGrader(FakeGrader):
    """A grading process that still imports torch."""

    def __init__(self) -> None:
        super().__init__()
        self._answers: asyncio.Queue[Reply | None] = asyncio.Queue()


async def to_failed(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Save a wrong answer and wait for its verdict."""
    path.write_text("wrong")
    await until(pilot, lambda: app.practice.last is not None)


async def to_starting(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Nothing has answered yet."""


async def to_fresh(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """The grader is ready, and the file is the stub."""
    await until(pilot, lambda: app.warm)


async def to_grading(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Another save is graded after a wrong answer."""
    await to_failed(app, path, pilot)
    path.write_text("slow")
    await until(pilot, lambda: app.grading)


async def to_passed(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """The answer is right."""
    path.write_text("right")
    await until(pilot, lambda: app.practice.passed)


async def to_trace(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """The trace of a wrong answer is shown."""
    await to_failed(app, path, pilot)
    await pilot.press("t")
    await until(pilot, lambda: app.trace is not None)


async def to_trace_behind(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """The trace is there, and the task is shown."""
    await to_trace(app, path, pilot)
    await pilot.press("tab")


async def to_hint(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """A hint was taken after a wrong answer."""
    await to_failed(app, path, pilot)
    await pilot.press("h")


async def to_why(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """The likely mistake is held back after a wrong answer."""
    await to_failed(app, path, pilot)
    await pilot.press("w")


async def to_unfinished(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """The file does not parse after a wrong answer."""
    await to_failed(app, path, pilot)
    path.write_text("half")
    await until(pilot, lambda: app.practice.unfinished is not None)


STATES = {
    "starting": to_starting,
    "fresh": to_fresh,
    "grading": to_grading,
    "failed": to_failed,
    "passed": to_passed,
    "trace": to_trace,
    "trace behind": to_trace_behind,
    "hint": to_hint,
    "why": to_why,
    "unfinished": to_unfinished,
}


def shown_keys(app: SessionApp) -> list[str]:
    """The keys that the footer shows, read from what is drawn there."""
    text = str(app.query_one("#keys").render()).replace("1-4 again … easy", "1 again")
    return re.findall(r"(?:^|  |\n)(\S+) ", text)


@pytest.fixture
def keys_work(file: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Press every key of the footer, each in a session of its own that stands still but for that key."""
    monkeypatch.setattr(
        "trainer.session.practice_screen.render_trace", lambda trace: f"trace of seed {trace.seed}"
    )
    monkeypatch.setenv("EDITOR", "no-such-editor")
    monkeypatch.delenv("VISUAL", raising=False)
    stub = file.read_text()

    def work(state: str, width: int, focus: str | None = None, **stay: Any) -> list[str]:
        pressed: list[str] = []

        def app() -> SessionApp:
            file.write_text(stub)
            grader = SilentGrader() if state == "starting" else FakeGrader()
            return app_on(file, home, grader, clock=lambda: 0.0, **stay)

        async def reach(made: SessionApp, pilot: Pilot[SessionResult]) -> None:
            if state != "starting":
                await until(pilot, lambda: made.warm)
            if stay.get("sitting") is None:
                await STATES[state](made, file, pilot)
            await pilot.pause()
            if focus is not None:
                made.query_one(f"#{focus}").focus()
            await pilot.pause()

        looked = app()

        async def look(pilot: Pilot[SessionResult]) -> None:
            await reach(looked, pilot)
            pressed.extend(shown_keys(looked))
            assert all(f"{key} " in words(pilot) for key in pressed), screen(pilot)

        run_app(looked, look, (width, 24))
        for key in pressed:
            tried = app()

            async def press(
                pilot: Pilot[SessionResult], tried: SessionApp = tried, key: str = key
            ) -> None:
                await reach(tried, pilot)
                before = screen(pilot)
                await pilot.press(key)
                if key in ("q", "n"):
                    assert tried.return_value is not None, f"{key} does not leave"
                    return
                await until(pilot, lambda: screen(pilot) != before, 5.0)
                await pilot.press("q")
                assert tried.return_value is not None, f"after {key} the session does not go on"

            run_app(tried, press, (width, 24))
        return pressed

    return work


@pytest.mark.sampled(14)
@pytest.mark.parametrize(
    ("state", "width"),
    [
        (state, width)
        for state in STATES
        for width in (WIDTHS if state in ("failed", "passed") else EDGES)
    ],
)
def test_every_shown_key_is_seen_to_work(
    keys_work: Callable[..., list[str]], state: str, width: int
) -> None:
    """Each key that the footer shows changes what is drawn, or leaves."""
    pressed = keys_work(state, width)
    assert {"tab", "q", "e", "x", "h"} <= set(pressed)
    assert ("r" in pressed) == (state != "starting")
    assert ("t" in pressed) == (state not in ("starting", "fresh"))
    assert ("w" in pressed) == (state not in ("starting", "fresh", "passed"))
    assert ({"n", "1"} <= set(pressed)) == (state == "passed")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("focus", ["task", "report"])
@pytest.mark.parametrize("width", [80, 140])
def test_keys_work_with_any_pane_focused(
    keys_work: Callable[..., list[str]], width: int, focus: str
) -> None:
    """The focus, which a click may have moved, takes no key away."""
    assert len(keys_work("failed", width, focus)) == 8


@pytest.mark.parametrize("width", WIDTHS)
def test_keys_of_the_opening_page(keys_work: Callable[..., list[str]], width: int) -> None:
    """Enter and q, and both work."""
    sitting = Sitting(1, 2, 1800.0, "An opening page.")
    assert keys_work("fresh", width, sitting=sitting, purpose="interview") == ["enter", "q"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("key", ["tab", "shift+tab"])
def test_task_is_one_key_away_after_a_verdict(file: Path, home: Path, width: int, key: str) -> None:
    """Where one pane is shown Tab shows the other; where both are, the arrows scroll the other."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await to_failed(app, file, pilot)
        await until(pilot, lambda: "3 of 4 values" in screen(pilot))
        assert app.focused is app.query_one("#report")
        await pilot.press(key)
        await until(pilot, lambda: "Grouped-query attention" in screen(pilot))
        assert app.focused is app.query_one("#task")
        await pilot.press("end")
        await until(pilot, lambda: app.query_one("#task").scroll_offset.y > 0)
        await pilot.press(key)
        await until(
            pilot,
            lambda: "3 of 4 values" in screen(pilot) and app.focused is app.query_one("#report"),
        )

    run_app(app, script, (width, 12))


def test_click_moves_what_the_arrows_scroll(file: Path, home: Path) -> None:
    """Where both panes are shown, a click on the task is the same as Tab."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await to_failed(app, file, pilot)
        await pilot.click("#prompt")
        await until(pilot, lambda: "tab scroll report" in words(pilot))
        assert app.view == "task"

    run_app(app, script, (140, 24))


def test_keys_of_a_terminal_that_is_too_small(file: Path, home: Path) -> None:
    """Nothing happens that cannot be seen; q quits."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await to_failed(app, file, pilot)
        await pilot.resize_terminal(30, 8)
        await pilot.pause()
        await pilot.press("x", "h", "w", "tab", "enter")
        assert file.read_text() == "wrong"
        assert app.practice.hints == ()
        await pilot.press("q")

    run_app(app, script, (80, 24))
    assert app.return_value is not None


def test_why_leaves_the_trace(file: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The likely mistake stands in the report, so the report is shown."""
    monkeypatch.setattr("trainer.session.practice_screen.render_trace", lambda trace: "the trace")
    app = app_on(file, home, why=False)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await to_trace(app, file, pilot)
        await pilot.press("w")
        await until(
            pilot, lambda: "the trace" not in screen(pilot) and "not scaled" in words(pilot)
        )

    run_app(app, script, (80, 24))


def test_what_an_editor_wrote_is_kept_whole(file: Path, home: Path) -> None:
    """A session whose editor cannot be started changes neither the file nor the journal."""
    app = app_on(file, home)
    before = file.read_text()

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("e")  # this terminal of the test cannot be lent
        await until(
            pilot,
            lambda: (
                "Edit the file in another window" in words(pilot) or "Set EDITOR" in words(pilot)
            ),
        )

    run_app(app, script, (80, 24))
    assert file.read_text() == before
    assert Journal(home).attempts() == []
    assert GQA.id in Journal(home).progress()
