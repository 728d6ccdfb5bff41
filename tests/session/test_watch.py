"""The session's screen, driven by Textual's pilot and, as a user would, in a terminal."""

import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.fake_grader import FakeGrader
from tests.support.session import app_on, drive, until
from trainer.server.messages import Grade
from trainer.session.model import SessionResult


def test_every_kind_of_save(file: Path, home: Path) -> None:
    """In place, by rename over it, removed and written anew: each is graded once; the same text again is not."""
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    orders = app.grader.requests

    def graded() -> list[str]:
        return [one.submission.source for one in orders if isinstance(one, Grade)]

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("one")
        await until(pilot, lambda: graded() == ["one"])
        (file.parent / "swap").write_text("two")
        os.replace(file.parent / "swap", file)
        await until(pilot, lambda: graded() == ["one", "two"])
        file.unlink()
        await until(pilot, lambda: "There is no file" in app.status)
        file.write_text("three")
        await until(pilot, lambda: graded() == ["one", "two", "three"])
        file.write_text("three")
        await pilot.pause(0.3)
        assert graded() == ["one", "two", "three"]
        await pilot.press("r")
        await until(pilot, lambda: graded() == ["one", "two", "three", "three"])

    drive(app, script)


def test_without_events_the_file_is_looked_at(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system sends no events (a network folder), a save is noticed all the same."""
    import watchfiles

    async def none(*_: object, **__: object) -> Any:
        raise OSError("no events here")
        yield

    monkeypatch.setattr(watchfiles, "awatch", none)
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("right")
        await until(pilot, lambda: app.practice.passed)

    drive(app, script)
