"""Which packs are known and in what order; what is broken in one of them is told, and stops no command."""

from pathlib import Path

from tests.support.known_packs import BANK, make
from trainer.packs.question_bank import read_bank


def test_question_banks_are_one(tmp_path: Path) -> None:
    """Of one id and one topic the earlier pack's counts, in the packs' order; a broken bank is left out and told."""
    roots = [make(tmp_path / name, name) for name in ("one", "two", "torn")]
    for root, files in zip(
        roots,
        (
            {"t": ("First", "q"), "u": ("U", "r")},
            {"t": ("Second", "s"), "v": ("V", "q")},
            {"t": ("Third", "")},
        ),
        strict=True,
    ):
        (root / "challenges" / "_questions").mkdir()
        for name, words in files.items():
            (root / "challenges" / "_questions" / f"{name}.toml").write_text(
                BANK.format(*words) if words[1] else "title ="
            )
    bank = read_bank(roots)
    assert dict(bank.titles) == {"t": "First", "u": "U", "v": "V"}
    assert [(one.id, one.topic) for one in bank.questions] == [("q", "t"), ("r", "u"), ("s", "t")]
    hidden, torn = bank.troubles
    assert f"'q' of {roots[1]} is hidden" in hidden
    assert f"questions of {roots[2]} are left out" in torn
