"""Open a practice session on this terminal. Textual is imported only when a session is opened."""

from __future__ import annotations

import os

from trainer.practice.journal import Journal
from trainer.session.model import SessionRequest, SessionResult


def run_session(request: SessionRequest, journal: Journal) -> SessionResult:
    """Run a session until the learner leaves it, and return its result."""
    # Textual reads this variable at its import: it is the number of drawings per second.
    # With Textual's default of 60, a verdict would wait for up to 8 ms.
    os.environ.setdefault("TEXTUAL_FPS", "250")
    from trainer.session.practice_screen import run

    return run(request, journal)
