"""The session's screen, driven by Textual's pilot and, as a user would, in a terminal."""

import re
from pathlib import Path

from tests.support.session import read_until, terminal


def test_no_color_in_a_terminal(file: Path) -> None:
    """With NO_COLOR nothing is drawn in a colour other than grey."""

    def colours(**environment: str) -> set[tuple[str, ...]]:
        with terminal(
            ["-m", "tests.support.session_in_a_terminal", str(file)],
            file.parent,
            COLORTERM="truecolor",
            **environment,
        ) as (_, end):
            file.write_text("right")
            drawn = read_until(end, lambda seen: "PASSED" in seen)
        file.write_text("")
        return set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", drawn))

    assert any(len(set(one)) > 1 for one in colours())
    assert all(len(set(one)) == 1 for one in colours(NO_COLOR="1"))
