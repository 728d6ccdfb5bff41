"""Run as a program in a terminal of its own: a session whose grading process is a fake one. Its arguments: the learner's file."""

import sys
import time
from pathlib import Path

from tests.fake_grader import FakeGrader
from trainer.content import packs
from trainer.practice.journal import default_journal
from trainer.session.app import SessionApp
from trainer.session.practice import Practice
from trainer.session.stay import Stay

if __name__ == "__main__":
    challenge = packs.find_challenge(packs.built_in_pack(), "gqa")
    given = Stay(challenge, Path(sys.argv[1]), "# Task", 0.0, 1200.0)
    journal = default_journal()
    journal.record_start("gqa", given.path, time.time())
    SessionApp(Practice(given, journal, time.time, time.monotonic), FakeGrader()).run()
