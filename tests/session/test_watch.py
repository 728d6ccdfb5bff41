"""Noticing the saves of a file."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from attn_drill.server.messages import Grade
from attn_drill.session._editor import mark_of, saves
from tests.support.session import FakeGrader, drive, screen_on, until


def test_mark_changes_with_every_save(tmp_path: Path) -> None:
    """A file of the same size has another mark if it was written or renamed later."""
    path = tmp_path / "a.py"
    assert mark_of(path) is None
    path.write_text("one")
    first = mark_of(path)
    (tmp_path / "b.py").write_text("two")
    os.replace(tmp_path / "b.py", path)
    assert mark_of(path) != first
    os.utime(path, ns=(0, 0))
    second = mark_of(path)
    os.utime(path, ns=(0, 1))
    assert mark_of(path) != second


def test_saves_yields_after_a_change_and_stops(tmp_path: Path) -> None:
    """A change of another file in the folder yields nothing."""
    path = tmp_path / "a.py"
    path.write_text("one")

    async def run() -> list[str]:
        stop = asyncio.Event()
        texts = []

        async def watch() -> None:
            async for _ in saves(path, stop):
                texts.append(path.read_text())

        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0.2)
        (tmp_path / "other.py").write_text("another file")
        path.write_text("three")
        for _ in range(500):
            if texts:
                break
            await asyncio.sleep(0.02)
        stop.set()
        await watcher
        return texts

    assert asyncio.run(run()) == ["three"]


def test_every_kind_of_save_is_graded_once(file: Path, home: Path) -> None:
    """A file may be written in place, replaced by a rename, or removed and written again."""
    practice = screen_on(file, home)
    grader = practice.link.client
    assert isinstance(grader, FakeGrader)
    requests = grader.requests

    def graded() -> list[str]:
        return [request.submission.source for request in requests if isinstance(request, Grade)]

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        file.write_text("one")
        await until(pilot, lambda: graded() == ["one"])
        (file.parent / "swap").write_text("two")
        os.replace(file.parent / "swap", file)
        await until(pilot, lambda: graded() == ["one", "two"])
        file.unlink()
        await until(pilot, lambda: "There is no file" in practice.model.status)
        file.write_text("three")
        await until(pilot, lambda: graded() == ["one", "two", "three"])
        file.write_text("three")
        await pilot.pause(0.3)
        assert graded() == ["one", "two", "three"], "the same text is not graded again"
        await pilot.press("r")
        await until(pilot, lambda: graded() == ["one", "two", "three", "three"])

    drive(practice, script)


@pytest.mark.thorough
def test_save_without_an_event_is_noticed(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a network folder, for example, the system sends no events."""
    import watchfiles

    async def no_events(*_: object, **__: object) -> Any:
        raise OSError("no events here")
        yield

    monkeypatch.setattr(watchfiles, "awatch", no_events)
    practice = screen_on(file, home)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        file.write_text("right")
        await until(pilot, lambda: practice.model.record.passed)

    drive(practice, script)
