"""The question banks of several packs are one bank."""

from pathlib import Path

import pytest

from attn_drill.model.errors import PackError
from attn_drill.packs.question_bank import read_bank, read_topic
from tests.support.packs import BANK, make_pack


def test_banks_of_several_packs_are_joined(tmp_path: Path) -> None:
    """The earlier pack's question and title win; a broken bank is left out and reported."""
    roots = [make_pack(tmp_path / name, name) for name in ("one", "two", "torn")]
    banks = (
        {"t": ("First", "q"), "u": ("U", "r")},
        {"t": ("Second", "s"), "v": ("V", "q")},
        {"t": ("Third", "")},
    )
    for root, files in zip(roots, banks, strict=True):
        folder = root / "challenges" / "_questions"
        folder.mkdir()
        for name, (title, question_id) in files.items():
            text = BANK.format(title, question_id) if question_id else "title ="
            (folder / f"{name}.toml").write_text(text)
    bank = read_bank(roots)
    assert dict(bank.titles) == {"t": "First", "u": "U", "v": "V"}
    assert [(question.id, question.topic) for question in bank.questions] == [
        ("q", "t"),
        ("r", "u"),
        ("s", "t"),
    ]
    (torn,) = bank.troubles
    assert f"are left out: {roots[2]}/challenges/_questions/t.toml is not valid TOML" in torn


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('answer = "2"', "", "Question 'q' needs `answer`"),
        ('kind = "number"', 'kind = "choice"', "at least two answers in `wrong`"),
        ('asks = "2?"', 'asks = "{heads}?"', r"uses \{heads\} in `asks`"),
        ('answer = "2"', 'answer = "2"\nvary = { a = [] }', "`a` is a list of"),
        ('answer = "2"', 'answer = "2 /"', "cannot be computed"),
        ('kind = "number"', 'kind = "choice"\nright = "a"\nwrong = ["a", "b"]', "twice"),
    ],
)
def test_question_with_a_fault_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """The error names the file, the line, the question and the fault."""
    path = tmp_path / "own.toml"
    path.write_text(BANK.format("Own", "q").replace(old, new))
    with pytest.raises(PackError, match=rf"own\.toml, line [28]: .*{message}"):
        read_topic(path)
