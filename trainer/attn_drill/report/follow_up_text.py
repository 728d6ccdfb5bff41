"""A follow-up question and its model answer as terminal text."""

from __future__ import annotations

import re

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.text import Text

from attn_drill.packs.follow_up import FollowUp
from attn_drill.report.styles import QUIET
from attn_drill.report.wording import WIDEST

_CHINESE = r"\u3000-\u9fff\uff00-\uffef"
# A line end between two Chinese characters, also after a comma, stands for no blank.
_CHINESE_LINE_END = re.compile(rf"(?<=[{_CHINESE},;:?!)])\n(?=[{_CHINESE}])")


def prose_of(text: str) -> str:
    """Return a question or an answer as one line, without the backquotes of Markdown.

    >>> prose_of("Why is `q @ k`\\n  divided?")
    'Why is q @ k divided?'
    """
    lines = "\n".join(line.strip() for line in text.strip().splitlines())
    return " ".join(_CHINESE_LINE_END.sub("", lines).replace("`", "").split())


def render_follow_up(follow_up: FollowUp, title: str, *, is_revealed: bool) -> RenderableType:
    """Return a question about a challenge, and its model answer if the learner asked for it."""
    next_step = "Think, then press Enter to read a model answer."
    parts = [Text(title, style=QUIET), Text(prose_of(follow_up.question), style="bold"), Text()]
    if is_revealed:
        next_step = "Rate your own answer: 1 again, 2 hard, 3 good, 4 easy."
        parts += [Text(prose_of(follow_up.answer)), Text()]
    return Constrain(Group(*parts, Text(next_step, style=QUIET)), WIDEST)
