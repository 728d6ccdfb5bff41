"""A program for a terminal: a session with a fake grading process.

Its only argument is the learner's file.
"""

import os
import sys
from pathlib import Path

from attn_drill.practice.journal import home
from attn_drill.session._drill_app import DrillApp
from tests.support.session import screen_on

if __name__ == "__main__":
    DrillApp(screen_on(Path(sys.argv[1]), home(dict(os.environ)))).run()
