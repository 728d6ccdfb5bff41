"""Characters that could act are shown as escapes."""

import pytest

from attn_drill.report.wording import visible
from tests.support.classroom import PLAIN_NAMES


def test_characters_that_act_are_shown_as_escapes() -> None:
    """They are control characters, direction marks and lone surrogates. Line ends may stay."""
    assert visible("a\x1b[31m\n\u202eb\udce9\u2028") == r"a\x1b[31m\n\u202eb\udce9\u2028"
    assert visible("a\r\n\tb\rc\x00", lines=True) == "a\n\tb\nc\\x00"


@pytest.mark.parametrize("name", [*PLAIN_NAMES, "نی\u200cلوفر", "a\u3000b", "é", "😀"])
def test_names_in_all_scripts_stay_unchanged(name: str) -> None:
    """Letters and joiners of a script do not act."""
    assert visible(name) == name
