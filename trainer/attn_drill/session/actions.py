"""The keys of a practice session: what each of them does, and which of them a phase shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# The phases of a session, each with its own line of keys.
Phase = Literal["writing", "failed", "passed", "question", "interview"]


@dataclass(frozen=True)
class Action:
    """An action of the session, and its key."""

    name: str
    key: str
    label: str
    explains: str
    # The keys as Textual names them, if they differ from `key`.
    bound: str = ""


ACTIONS = {
    action.name: action
    for action in (
        Action("edit", "e", "edit", "opens the file in your editor (VISUAL or EDITOR)"),
        Action("again", "r", "grade again", "grades the file once more, on fresh cases"),
        Action("hint", "h", "hint", "shows the next hint below the task"),
        Action("why", "w", "why", "shows more: the line, then a question, then the mistake"),
        Action("trace", "t", "trace", "shows the result of every line, or the report again"),
        Action("next", "n", "next", "goes on; in an interview, hands the file in first"),
        Action("answers", "o", "other answers", "after a pass: other right answers, page by page"),
        Action("questions", "f", "questions", "after a pass: the follow-up questions"),
        Action("reveal", "enter", "show the answer", "shows the answer to the open question"),
        Action(
            "rate",
            "1-4",
            "again, hard, good, easy",
            "rates your answer to a question, or changes the grade of a pass",
            "1,2,3,4",
        ),
        Action("pane", "tab", "task", "shows the task or the report; arrows scroll it"),
        Action("reset", "x", "fresh stub", "writes a fresh stub and keeps your file"),
        Action("shade", "d", "dark or light", "changes between dark and light colours"),
        Action("help", "?", "keys", "shows this list", "question_mark"),
        Action("leave", "q", "leave", "leaves; Esc first closes an open page", "q,ctrl+q"),
    )
}
_LAST = ("help", "leave")
_MOST_SHOWN = 5
# The keys of each phase. The first that does something is the next step.
_ORDER: dict[Phase, tuple[str, ...]] = {
    "writing": ("edit", "hint", "pane", "again"),
    "failed": ("why", "edit", "trace", "hint", "pane"),
    "passed": ("next", "answers", "questions", "edit"),
    "question": ("reveal", "rate", "questions"),
    "interview": ("next", "why", "hint", "pane", "edit"),
}


def key_line(phase: Phase, working: set[str]) -> list[Action]:
    """Return at most five of the actions that do something now, the next step first."""
    names = [name for name in _ORDER[phase] if name in working][: _MOST_SHOWN - len(_LAST)]
    return [ACTIONS[name] for name in (*names, *_LAST)]
