"""The coloured parts of a report's text on a page."""

from attn_drill.model.report import Report
from attn_drill.report.wording import coloured
from tests.support.report import as_text


def test_pieces_together_are_the_whole_report(failed: Report) -> None:
    """Only white space at the end is lost."""
    text = as_text(failed)
    assert "".join(piece for _, piece in coloured(text)) == text.rstrip()


def test_verdict_checks_and_wrong_entries_have_classes(failed: Report) -> None:
    """The verdict is at the start, a check has a symbol, and a wrong entry has a star."""
    pieces = [(classes, piece) for classes, piece in coloured(as_text(failed)) if classes]
    assert pieces[0] == ("wrong verdict", "FAILED")
    assert ("right", "✓ shapes") in pieces
    assert ("wrong", "✗ values") in pieces
    assert ("quiet", "– masks") in pieces
    starred = [piece for classes, piece in pieces if classes == "wrong" and piece.endswith("*")]
    assert starred
    assert all(float(piece.rstrip("*")) < 1000 for piece in starred)


def test_name_of_a_check_with_blanks_is_one_piece() -> None:
    """Two blanks separate the checks."""
    pieces = dict(coloured("PASSED  gqa\n✓ bad sizes  ✓ from scratch"))
    assert pieces["right verdict"] == "PASSED"
    assert pieces["right"] == "✓ from scratch"


def test_star_of_an_expression_has_no_class() -> None:
    """A line of code may multiply, or have keyword arguments."""
    assert [classes for classes, _ in coloured("ERROR in\nx = 2*y, **options") if classes] == []
