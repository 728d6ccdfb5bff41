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
    """Return a question or an answer as one line, without the backquotes of Markdown."""
    lines = "\n".join(line.strip() for line in text.strip().splitlines())
    return " ".join(_CHINESE_LINE_END.sub("", lines).replace("`", "").split())


def render_follow_up(follow_up: FollowUp, title: str, *, is_revealed: bool) -> RenderableType:
    """Return a question of an interview, and its model answer if the learner asked for it.

    Args:
        follow_up: the question.
        title: the title of its challenge.
        is_revealed: show the model answer.
    """
    parts = [Text(title, style=QUIET), Text(prose_of(follow_up.question), style="bold"), Text()]
    if is_revealed:
        parts += [
            Text(prose_of(follow_up.answer)),
            Text(),
            Text("Rate your own answer: 1 again, 2 hard, 3 good, 4 easy.", style=QUIET),
        ]
    else:
        parts.append(Text("Think, then press Enter to read a model answer.", style=QUIET))
    return Constrain(Group(*parts), WIDEST)
