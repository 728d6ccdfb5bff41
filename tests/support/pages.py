"""Helpers for the tests of HTML pages."""

from attn_drill.classroom.records import StudentResult
from attn_drill.export._class_page import class_html
from attn_drill.export.handout import HandoutTask, handout_html
from tests.support.class_results import assignment, make_gradebook


def class_page(results: list[StudentResult], *challenges: str) -> str:
    """Return the HTML page of a class."""
    return "".join(class_html(make_gradebook(results, assignment(challenges))))


PROMPT = """\
# The heading

| name | shape |
| ---- | ----: |
| `x` | `[B, L]` |

<script>alert(1)</script>
\x1b[31m
"""


def handout_page(**settings: object) -> str:
    """Return the HTML page that students get with two tasks."""
    both = assignment(("first", "second"), **settings)
    tasks = [
        HandoutTask(
            assigned, f"<{assigned.challenge}>", "f.py", ("f", "g"), PROMPT, ("loads", "values")
        )
        for assigned in both.challenges
    ]
    return "".join(handout_html(both, tasks))
