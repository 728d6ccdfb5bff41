"""A program for a terminal: a session with a fake grading process.

Its only argument is the learner's file.
"""

import os
import sys
from pathlib import Path

from tests.support.session import screen_on
from trainer.practice.journal import home
from trainer.session.app import DrillApp

if __name__ == "__main__":
    DrillApp(screen_on(Path(sys.argv[1]), home(dict(os.environ)))).run()
