"""Tests of the milestones that a submission reached or missed."""

from attn_drill.diagnosis._milestones import progress
from attn_drill.diagnosis._value_graph import content_graph
from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, SEED


def test_milestone_before_a_wrong_softmax_is_reached(grader: Grader) -> None:
    """The last right result is the scores, and the first missed result the weights."""
    challenge = CHALLENGES["sdpa"]
    case_set, source = grader.case_set(challenge, SEED).select([0]), pack_reader.solution(challenge)
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
    assert found.last is not None
    assert found.missed is not None
    assert (found.last.name, found.missed.name) == ("scores", "weights")
    assert "scale" in found.cleared
    assert "softmax axis" not in found.cleared
