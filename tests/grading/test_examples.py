"""The worked example of a prompt runs on the reference."""

import builtins

import pytest

from attn_drill.grading.content import WrongExample, wrong_examples

PROMPT = """# A sum

```python
>>> total(torch.ones(2))
tensor(2.)
>>> y = total(torch.rand(2))  # drawn from seed 0
>>> round(float(y), 2)
1.26
```

Text.
"""


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", []),
        ("tensor(2.)", "tensor(3.)", [WrongExample(4, "total(torch.ones(2))", "tensor(2.)")]),
        (
            ">>> total",
            ">>> totl",
            [WrongExample(4, "totl(torch.ones(2))", "NameError: name 'totl'")],
        ),
        ("tensor(2.)\n", "", [WrongExample(4, "total(torch.ones(2))", "tensor(2.)")]),
    ],
    ids=["right", "wrong result", "exception", "no result"],
)
def test_wrong_example_is_found(old: str, new: str, wrong: list[WrongExample]) -> None:
    """It has the line of the prompt and the real result."""
    found = wrong_examples(PROMPT.replace(old, new, 1), {"total": lambda x: x.sum()})
    assert [(example.line, example.source) for example in found] == [
        (example.line, example.source) for example in wrong
    ]
    assert all(example.result.startswith(wrong[0].result) for example in found)


def test_examples_leave_no_name_behind() -> None:
    """Python keeps a value that it displays as `_`, for all modules."""
    wrong_examples("```\n>>> 1 + 1\n2\n```\n", {})
    assert not hasattr(builtins, "_")
