"""Run the screen of a session without a wait for its grader."""

import asyncio
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from trainer.session.model import SessionResult
from trainer.session.practice_screen import SessionApp

Script = Callable[[Pilot[SessionResult]], Awaitable[None]]


def run_app(app: SessionApp, script: Script, size: tuple[int, int]) -> None:
    """Run the app without a terminal."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await script(pilot)

    asyncio.run(run())
