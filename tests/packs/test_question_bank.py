"""The question banks of several packs are one bank."""

from pathlib import Path

import pytest

from attn_drill.model.errors import PackError
from attn_drill.packs.question_bank import evaluate, read_bank, read_topic
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


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2 * a ** b // 3", 10),
        ("-a + sqrt(c * 4)", 0),
        ("bytes_of(kind) * ceil(a / 3)", 4),
        ("min(a, 3) % 2", 1),
        ("log2(8)", 3),
    ],
)
def test_formula_has_the_value_of_its_arithmetic(formula: str, value: float) -> None:
    """Operators, functions and names give the value that they have in Python."""
    assert evaluate(formula, {"a": 4, "b": 2, "c": 4, "kind": "float16"}) == value


@pytest.mark.parametrize(
    "formula",
    [
        "a.b",
        "__import__('os')",
        "[1]",
        "a if b else c",
        "unknown + 1",
        "1 / 0",
        "'word'",
        "f(x=1)",
        "a +",
        "open('x')",
        "True and 1",
        "9 ** 9 ** 9",
    ],
)
def test_text_that_is_not_arithmetic_is_refused(formula: str) -> None:
    """Any other expression raises ValueError, and no part of it runs."""
    with pytest.raises(ValueError, match=r".+"):
        evaluate(formula, {"a": 1, "b": 2})


def test_error_names_the_formula_and_the_allowed_operators() -> None:
    """The message shows the refused part and the operators that a formula may use."""
    with pytest.raises(ValueError, match=r"'a\.b' is not arithmetic; use \+ - \* /"):
        evaluate("a.b", {"a": 1})


def test_a_word_is_not_a_value() -> None:
    """A name may hold a word for `bytes_of`, but the formula must give a number."""
    with pytest.raises(ValueError, match="gives the word 'int8', not a number"):
        evaluate("kind", {"kind": "int8"})
