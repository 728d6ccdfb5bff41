"""The table of `pack check`."""

from attn_drill.packs.content_check import Row
from attn_drill.report.class_text import mistakes_table


def test_table_has_a_row_for_each_mistake_and_a_column_for_each_check() -> None:
    """A mistake that no check refuses has a warning after its name."""
    rows = [
        Row("gqa", "mistake", "a", refused_by=("values",)),
        Row("gqa", "mistake", "b", ("It passes.",)),
        Row("gqa", "stub", "stub.py", refused_by=("runs",)),
    ]
    lines = mistakes_table(rows).splitlines()
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "challenge",
        "mistake",
        "values",
    ]
    assert [cell.strip() for cell in lines[2].strip("|").split("|")] == ["gqa", "a", "x"]
    assert "NOT REFUSED" in lines[3]
