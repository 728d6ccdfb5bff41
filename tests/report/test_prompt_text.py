"""Tests of prompts as terminal text."""

import io
import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import Console

from attn_drill.packs import pack_reader
from attn_drill.report.lesson_text import Prompt

PROMPTS = {
    f"{challenge.id} {language}": pack_reader.prompt(challenge, language)
    for challenge in pack_reader.read_pack(pack_reader.built_in_pack())
    for language in ("en", "zh")
}

TABLE = """\
| argument | meaning |
| --- | --- |
| `num_kv_heads` | the number of heads of keys and values, which divides the number of query heads |
"""

CODE = """\
```python
out = attention(first_argument, second_argument, third_argument)  # [2, 8, 64]
```
"""


def shown(text: str, width: int, **options: bool | str) -> str:
    """Return a prompt as it is printed at this width."""
    terminal = Console(width=width, file=io.StringIO(), **options)  # type: ignore[arg-type]
    with terminal.capture() as capture:
        terminal.print(Prompt(text))
    return capture.get()


def characters(drawn: str) -> Counter[str]:
    """Return the characters of a drawn prompt without blanks and lines."""
    return Counter(re.sub(r"[\s─━]", "", drawn))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [50, 80])
def test_no_prompt_is_cut(width: int) -> None:
    """Every prompt has the same characters as on a very wide terminal. No line is too wide."""
    for name, text in list(PROMPTS.items())[:: 8 if width == 50 else 1]:
        drawn = shown(text, width)
        assert max(map(cell_len, drawn.splitlines())) <= width, name
        assert characters(drawn) == characters(shown(text, 400)), name


@pytest.mark.parametrize("width", [30, 50, 80])
def test_long_cell_of_a_table_folds_between_words(width: int) -> None:
    """The name in the first column stays whole, because there is enough room for it."""
    drawn = shown(TABLE, width)
    assert max(map(len, drawn.splitlines())) <= width
    assert "num_kv_heads" in drawn
    assert set(re.findall(r"\w+", TABLE)) <= set(re.findall(r"\w+", drawn))


def test_cell_is_divided_in_a_word_only_without_room() -> None:
    """All letters stay."""
    drawn = shown(TABLE, 14)
    assert max(map(len, drawn.splitlines())) <= 14
    assert "…" not in drawn


@pytest.mark.parametrize("width", [30, 50])
def test_long_line_of_code_continues_below(width: int) -> None:
    """Nothing of the code is lost."""
    drawn = shown(CODE, width)
    assert max(map(len, drawn.splitlines())) <= width
    assert "".join(drawn.split()) == "".join(CODE.splitlines()[1].split())


def test_code_has_the_colours_of_the_terminal() -> None:
    """A fixed colour or background may be unreadable."""
    drawn = shown(CODE, 80, force_terminal=True, color_system="truecolor")
    assert "\x1b[" in drawn
    assert "38;2;" not in drawn
    assert "48;2;" not in drawn
