"""The three levels of a stub come from one text and are the same code."""

import pytest

from trainer.packs.arithmetic import evaluate


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2 * a ** b // 3", 10),
        ("-a + sqrt(b * 4)", 0),
        ("bytes_of(kind) * ceil(a / 3)", 4),
        ("min(a, 3) % 2", 1),
        ("log2(8)", 3),
    ],
)
def test_formulas(formula: str, value: float) -> None:
    """Arithmetic over what is given."""
    assert (
        evaluate(
            formula, {"a": 4, "b": 2, "kind": "float16"} | ({"b": 4} if "sqrt" in formula else {})
        )
        == value
    )


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
    ],
)
def test_no_formulas(formula: str) -> None:
    """Anything else is refused in words, and nothing of it is run."""
    with pytest.raises(ValueError, match=r".+"):
        evaluate(formula, {"a": 1, "b": 2})
