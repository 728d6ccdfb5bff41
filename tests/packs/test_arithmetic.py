"""Formulas of packs: arithmetic over named values, and nothing else."""

import pytest

from attn_drill.packs.question_bank import evaluate


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
