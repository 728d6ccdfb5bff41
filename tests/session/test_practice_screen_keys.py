"""Every key of the session's footer, at many widths and in every state of the session."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.fake_grader import FakeGrader
from tests.support.session import GQA, app_on, screen, until, words
from tests.support.session_interview import SITTING
from tests.support.session_keys import run_app
from trainer.practice.journal import Journal
from trainer.practice.progress import counted_attempts, progress_of
from trainer.server.messages import Reply
from trainer.session.model import SessionResult
from trainer.session.practice_screen import SessionApp

WIDTHS = (40, 60, 80, 109, 110, 140)
EDGES = (40, 109, 110)  # the least width, and the widths at which the layout changes


class SilentGrader(FakeGrader):
    """A grading process that is still starting."""

    def __init__(self) -> None:
        super().__init__()
        self._replies: asyncio.Queue[Reply | None] = asyncio.Queue()


async def to_failed(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Save a wrong answer and wait for its verdict."""
    path.write_text("wrong")
    await until(pilot, lambda: app.state.last is not None)


async def to_starting(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Do nothing: the grader has not replied yet."""


async def to_fresh(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Wait for the grader. The file is the stub."""
    await until(pilot, lambda: app.warm)


async def to_grading(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Save another text after a wrong answer, and wait until it is being graded."""
    await to_failed(app, path, pilot)
    path.write_text("slow")
    await until(pilot, lambda: app.grading)


async def to_passed(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Save a right answer and wait for its verdict."""
    path.write_text("right")
    await until(pilot, lambda: app.state.passed)


async def to_trace(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Show the trace of a wrong answer."""
    await to_failed(app, path, pilot)
    await pilot.press("t")
    await until(pilot, lambda: app.trace is not None)


async def to_trace_behind(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Show the task after the trace."""
    await to_trace(app, path, pilot)
    await pilot.press("tab")


async def to_hint(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Take a hint after a wrong answer."""
    await to_failed(app, path, pilot)
    await pilot.press("h")


async def to_why(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Hide the likely mistake after a wrong answer."""
    await to_failed(app, path, pilot)
    await pilot.press("w")


async def to_unfinished(app: SessionApp, path: Path, pilot: Pilot[SessionResult]) -> None:
    """Save a text that does not parse after a wrong answer."""
    await to_failed(app, path, pilot)
    path.write_text("half")
    await until(pilot, lambda: app.state.unfinished is not None)


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
    """Return the keys in the footer, read from the drawn text."""
    text = str(app.query_one("#keys").render()).replace("1-4 again … easy", "1 again")
    return re.findall(r"(?:^|  |\n)(\S+) ", text)


@pytest.fixture
def press_all(file: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that presses every key of the footer.

    Each key gets its own session. The clock of the session stands still, so only the key can change
    the screen.
    """
    monkeypatch.setattr(
        "trainer.session.practice_screen.render_trace",
        lambda trace: f"trace of seed {trace.seed}",
    )
    monkeypatch.setenv("EDITOR", "no-such-editor")
    monkeypatch.delenv("VISUAL", raising=False)
    stub = file.read_text()

    def press_keys(state: str, width: int, focus: str | None = None, **options: Any) -> list[str]:
        keys: list[str] = []

        def new_app() -> SessionApp:
            file.write_text(stub)
            grader = SilentGrader() if state == "starting" else FakeGrader()
            return app_on(file, home, grader, clock=lambda: 0.0, **options)

        async def reach(app: SessionApp, pilot: Pilot[SessionResult]) -> None:
            if state != "starting":
                await until(pilot, lambda: app.warm)
            if options.get("sitting") is None:
                await STATES[state](app, file, pilot)
            await pilot.pause()
            if focus is not None:
                app.query_one(f"#{focus}").focus()
            await pilot.pause()

        app_to_read = new_app()

        async def read(pilot: Pilot[SessionResult]) -> None:
            await reach(app_to_read, pilot)
            keys.extend(shown_keys(app_to_read))
            assert all(f"{key} " in words(pilot) for key in keys), screen(pilot)

        run_app(app_to_read, read, (width, 24))
        for key in keys:
            app = new_app()

            async def press(
                pilot: Pilot[SessionResult], app: SessionApp = app, key: str = key
            ) -> None:
                await reach(app, pilot)
                before = screen(pilot)
                await pilot.press(key)
                if key in ("q", "n"):
                    assert app.return_value is not None, f"{key} does not leave"
                    return
                await until(pilot, lambda: screen(pilot) != before, 5.0)
                await pilot.press("q")
                assert app.return_value is not None, f"after {key} the session does not go on"

            run_app(app, press, (width, 24))
        return keys

    return press_keys


@pytest.mark.sampled(40)
@pytest.mark.parametrize(
    ("state", "width"),
    [
        (state, width)
        for state in STATES
        for width in (WIDTHS if state in ("failed", "passed") else EDGES)
    ],
)
def test_every_shown_key_changes_the_screen_or_leaves(
    press_all: Callable[..., list[str]], state: str, width: int
) -> None:
    """The footer of each state has the right keys."""
    pressed = press_all(state, width)
    assert {"tab", "q", "e", "x", "h"} <= set(pressed)
    assert ("r" in pressed) == (state != "starting")
    assert ("t" in pressed) == (state not in ("starting", "fresh"))
    assert ("w" in pressed) == (state not in ("starting", "fresh", "passed"))
    assert ({"n", "1"} <= set(pressed)) == (state == "passed")


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize("focus", ["task", "report"])
@pytest.mark.parametrize("width", [80, 140])
def test_keys_work_with_any_pane_focused(
    press_all: Callable[..., list[str]], width: int, focus: str
) -> None:
    """A click may move the focus, and all keys still work."""
    assert len(press_all("failed", width, focus)) == 8


@pytest.mark.thorough
@pytest.mark.sampled(6)
@pytest.mark.parametrize("width", WIDTHS)
def test_opening_page_has_the_keys_enter_and_q(
    press_all: Callable[..., list[str]], width: int
) -> None:
    """Both keys work."""
    assert press_all("fresh", width, sitting=SITTING, purpose="interview") == ["enter", "q"]


@pytest.mark.thorough
@pytest.mark.sampled(9)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("key", ["tab", "shift+tab"])
def test_tab_shows_or_scrolls_the_other_pane(file: Path, home: Path, width: int, key: str) -> None:
    """On a narrow screen Tab shows the other pane. On a wide screen it scrolls the other pane."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await to_failed(app, file, pilot)
        await until(pilot, lambda: "LIKELY" in screen(pilot))
        assert app.focused is app.query_one("#report")
        await pilot.press(key)
        await until(pilot, lambda: "Grouped-query attention" in screen(pilot))
        assert app.focused is app.query_one("#task")
        await pilot.press("end")
        await until(pilot, lambda: app.query_one("#task").scroll_offset.y > 0)
        await pilot.press(key)
        await until(
            pilot,
            lambda: "LIKELY" in screen(pilot) and app.focused is app.query_one("#report"),
        )

    run_app(app, script, (width, 12))


def test_click_on_a_pane_lets_the_arrows_scroll_it(file: Path, home: Path) -> None:
    """If both panes are shown, a click on the task is the same as Tab."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await to_failed(app, file, pilot)
        await pilot.click("#prompt")
        await until(pilot, lambda: "tab scroll report" in words(pilot))
        assert app.view == "task"

    run_app(app, script, (140, 24))


@pytest.mark.thorough
def test_only_q_works_in_a_terminal_that_is_too_small(file: Path, home: Path) -> None:
    """A change that cannot be seen must not happen."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await to_failed(app, file, pilot)
        await pilot.resize_terminal(30, 8)
        await pilot.pause()
        await pilot.press("x", "h", "w", "tab", "enter")
        assert file.read_text() == "wrong"
        assert app.state.hints == ()
        await pilot.press("q")

    run_app(app, script, (80, 24))
    assert app.return_value is not None


@pytest.mark.thorough
def test_why_shows_the_report_in_place_of_the_trace(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question and the likely mistake are parts of the report."""
    monkeypatch.setattr("trainer.session.practice_screen.render_trace", lambda trace: "the trace")
    app = app_on(file, home, stage="line")

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await to_trace(app, file, pilot)
        await pilot.press("w")
        await until(pilot, lambda: "the trace" not in screen(pilot) and "Why sqrt?" in words(pilot))
        await pilot.press("t")
        await until(pilot, lambda: "the trace" in screen(pilot))
        await pilot.press("w")
        await until(
            pilot, lambda: "the trace" not in screen(pilot) and "not scaled" in words(pilot)
        )

    run_app(app, script, (80, 24))


def test_editor_that_cannot_start_changes_nothing(file: Path, home: Path) -> None:
    """The file and the journal stay, and the screen shows the next step."""
    app = app_on(file, home)
    before = file.read_text()

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("e")  # the terminal of the test cannot run an editor
        await until(
            pilot,
            lambda: (
                "Edit the file in another window" in words(pilot) or "Set EDITOR" in words(pilot)
            ),
        )

    run_app(app, script, (80, 24))
    assert file.read_text() == before
    assert counted_attempts(Journal(home).facts()) == []
    assert GQA.id in progress_of(Journal(home).facts())
