"""Tests of the milestones that a submission reached or missed."""

from tests.support.diagnosis import CHALLENGES, SEED
from trainer.diagnosis.milestones import progress
from trainer.diagnosis.value_graph import content_graph
from trainer.grading.grader import Grader
from trainer.packs import pack_reader


def test_lines_before_a_wrong_softmax_are_right(grader: Grader) -> None:
    """The lines before the wrong line are right, and the lines after it do not lead to it."""
    challenge = CHALLENGES["sdpa"]
    case_set, source = grader.case_set(challenge, SEED).only([0]), pack_reader.solution(challenge)
    lines = source.splitlines()
    (line,) = [line_number for line_number, text in enumerate(lines, 1) if "torch.softmax(" in text]
    reference = content_graph(case_set, source, "solution.py")
    wrong = content_graph(
        case_set,
        source.replace(lines[line - 1], lines[line - 1].replace("dim=-1", "dim=-2")),
        "wrong.py",
    )
    assert reference is not None
    assert wrong is not None
    found = progress(wrong, reference, source, dict(case_set.cases[0].sizes))
    used = {node.line for node in reference.leading_to_outputs if node.lines}
    assert found.missed is not None
    assert found.missed.name == "weights"
    assert {before for before in used if before < line} <= found.right_lines
    assert {after for after in used if after > line} <= found.lines_elsewhere
    assert line not in found.right_lines | found.lines_elsewhere
