"""The command `hint`."""

from pathlib import Path

from tests.support.cli import GQA, drill


def test_each_call_shows_the_next_hint(tmp_path: Path) -> None:
    """--level shows a certain hint. An unknown level is refused."""
    texts = [drill("hint", "gqa", cwd=tmp_path).stdout for _ in range(4)]
    assert [text[:6] for text in texts] == ["Hint 1", "Hint 2", "Hint 3", "Hint 3"]
    assert GQA.hints[0] in drill("hint", "gqa", "--level", "1", cwd=tmp_path).stdout
    assert "hints 1 to 3" in drill("hint", "gqa", "--level", "4", cwd=tmp_path, code=2).stderr
