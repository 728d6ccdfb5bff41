"""Tests of the trace of a submission."""

import pytest

from attn_drill.diagnosis.tracing import trace
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Submission
from attn_drill.model.errors import DrillError
from tests.support.diagnosis import CHALLENGES, SEED
from tests.support.grading import with_mistakes, with_tied_head

SDPA = CHALLENGES["sdpa"]


def test_rows_of_the_reference_have_its_names(grader: Grader) -> None:
    """Every row has the line, the text and the shape of its result."""
    source = with_mistakes(SDPA)
    found = trace(grader, SDPA, Submission("answer.py", source), SEED, 3)
    assert found.number == 3
    assert found.failure == ""
    by_name = {row.milestone: row for row in found.rows if row.milestone}
    assert list(by_name) == ["scores", "weights", "out"]
    weights = by_name["weights"]
    assert weights.text == source.splitlines()[weights.line - 1].strip()
    assert weights.low >= 0
    assert weights.high <= 1


def test_wrong_line_has_no_name(grader: Grader) -> None:
    """After a wrong softmax no result equals the weights. The failing case is traced by default."""
    source = with_mistakes(SDPA, "softmax-over-queries")
    found = trace(grader, SDPA, Submission("answer.py", source), SEED)
    names = [row.milestone for row in found.rows]
    assert "scores" in names
    assert "weights" not in names
    (marked,) = (row for row in found.rows if row.is_wrong)
    assert "softmax" in marked.text


def test_exception_ends_the_trace(grader: Grader) -> None:
    """The rows before the exception are kept, and the exception is reported."""
    source = with_mistakes(SDPA).replace("return weights @ v", "raise RuntimeError('stop')")
    found = trace(grader, SDPA, Submission("answer.py", source), SEED, 1)
    assert found.rows
    assert "stop" in found.failure


def test_file_that_does_not_load_cannot_be_traced(grader: Grader) -> None:
    """The error names the file and the command that explains it."""
    with pytest.raises(DrillError, match=r"answer\.py .* `attn-drill check sdpa`"):
        trace(grader, SDPA, Submission("answer.py", "raise ValueError"), SEED)


@pytest.mark.thorough
def test_first_wrong_line_is_marked(grader: Grader) -> None:
    """Exactly one row is marked, in a case that the report does not explain."""
    source = with_mistakes(SDPA, "softmax-over-queries")
    submission = Submission("answer.py", source)
    found = trace(grader, SDPA, submission, SEED, 5)
    (marked,) = (row for row in found.rows if row.is_wrong)
    assert "softmax" in marked.text
    right = trace(grader, SDPA, Submission("answer.py", with_mistakes(SDPA)), SEED, 5)
    assert not any(row.is_wrong for row in right.rows)


@pytest.mark.thorough
def test_answer_with_tied_parameters_is_traced(grader: Grader) -> None:
    """The reference ties them, too, so the results have the reference's names."""
    challenge = CHALLENGES["mini_gpt"]
    submission = Submission("answer.py", with_tied_head(challenge))
    found = trace(grader, challenge, submission, SEED, 1)
    assert found.failure == ""
    assert any(row.milestone == "scores" for row in found.rows)


def test_entries_of_a_mask_are_counted(grader: Grader) -> None:
    """A boolean row has the count of its True entries. Other rows have none."""
    masks = CHALLENGES["masks"]
    found = trace(grader, masks, Submission("masks.py", with_mistakes(masks)), SEED, 1)
    boolean = [row for row in found.rows if row.dtype == "bool"]
    assert boolean
    assert all(row.true is not None and 0 <= row.true <= row.entries for row in boolean)
    assert all(row.true is None for row in found.rows if row.dtype != "bool")
