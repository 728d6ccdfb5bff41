"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

from tests.support.diagnosis import CHALLENGES, SEED
from trainer.diagnosis.milestones import progress
from trainer.diagnosis.value_graph import content_graph
from trainer.grading.grader import Grader
from trainer.packs import pack_reader


def test_lines_are_cleared_by_their_results(grader: Grader) -> None:
    """Of an answer that goes wrong at the softmax the lines before it come out right, and those after it do not lead there."""
    challenge = CHALLENGES["sdpa"]
    case_set, source = grader.case_set(challenge, SEED).only([0]), pack_reader.solution(challenge)
    lines = source.splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if "torch.softmax(" in text]
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
    assert {one for one in used if one < line} <= found.right_lines
    assert {one for one in used if one > line} <= found.lines_elsewhere
    assert line not in found.right_lines | found.lines_elsewhere
