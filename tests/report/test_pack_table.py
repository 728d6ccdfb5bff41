"""What the learner sees: verdict first, both values, at 80 and 50 columns, without colour and in ASCII."""

from trainer.model.pack_rows import Row
from trainer.report.pack_table import mistakes_table


def test_mistakes_table() -> None:
    """A column a check, a cross where it refuses; what is not refused is shouted."""
    rows = [
        Row("gqa", "mistake", "a", True, "", ("values",)),
        Row("gqa", "mistake", "b", False),
        Row("gqa", "stub", "stub.py", True, "", ("runs",)),
    ]
    lines = mistakes_table(rows).splitlines()
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "challenge",
        "mistake",
        "values",
    ]
    assert [cell.strip() for cell in lines[2].strip("|").split("|")] == ["gqa", "a", "x"]
    assert "NOT REFUSED" in lines[3]
