"""A program for a terminal: a session with a fake grading process.

Its only argument is the learner's file.
"""

import sys
import time
from pathlib import Path

from tests.support.fake_grader import FakeGrader
from trainer.packs import pack_reader
from trainer.practice.facts import Started
from trainer.practice.journal import default_journal
from trainer.session.model import SessionRequest
from trainer.session.practice_screen import SessionApp
from trainer.session.session_state import SessionState

if __name__ == "__main__":
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    request = SessionRequest(challenge, Path(sys.argv[1]), "# Task", 0.0, 1200.0)
    journal = default_journal()
    journal.add(Started("gqa", time.time(), path=str(request.path)))
    SessionApp(SessionState(request, journal, time.time, time.monotonic), FakeGrader()).run()
