"""The line of a named mistake by its values."""

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Submission
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, diagnosed
from tests.support.grading import diagnoser_of, with_mistakes


@pytest.mark.parametrize(
    ("challenge_id", "right", "wrong", "name"),
    [
        pytest.param(
            "delta-rule",
            "S = S + step[..., :, None] * key[..., None, :]",
            "S = S.add_(step[..., :, None] * key[..., None, :])",
            "state-added-in-place",
            id="a right value, written in place",
        ),
        pytest.param(
            "lse-merge",
            "torch.maximum(lse_a, lse_b)",
            "torch.maximum(lse_a, lse_b).clamp_min(0.0)",
            "stand-in-for-every-low-maximum",
            id="a value with equal entries",
        ),
        pytest.param(
            "flash",
            "weights = torch.exp(scores - new_max)",
            "scores -= new_max; weights = scores.exp()",
            "scores-changed-in-place",
            id="a crash at a later line",
        ),
    ],
)
def test_line_is_found_by_its_values(
    grader: Grader, challenge_id: str, right: str, wrong: str, name: str
) -> None:
    """No wrong value of the explained case leads to the line."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), challenge_id)
    source = pack_reader.solution(challenge)
    assert source.count(right) == 1
    judgement = grader.grade(challenge, Submission("a.py", source.replace(right, wrong)), 5)
    diagnosis = diagnoser_of(grader).report(judgement).diagnosis
    assert diagnosis is not None
    assert [mistake.id for mistake in diagnosis.mistakes] == [name]
    assert diagnosis.first_line is not None
    assert wrong in diagnosis.first_line.text


STORED = "self.scale = d_model**-0.5"
PAST = "past = past_kv if use_cache else None"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("folder", "changes", "name", "line"),
    [
        pytest.param(
            "mha",
            [
                ("self.num_heads = num_heads", f"self.num_heads = num_heads\n        {STORED}"),
                ("scores / math.sqrt(self.head_dim)", "scores * self.scale"),
            ],
            "scale-by-d-model",
            STORED,
            id="a number of the constructor",
        ),
        pytest.param(
            "kv_cache",
            [
                ("        past_length = 0\n", f"        past_length = 0\n        {PAST}\n"),
                (
                    "if past_kv is not None:\n            past_k, past_v = past_kv",
                    "if past is not None:\n            past_k, past_v = past",
                ),
            ],
            "past-needs-use-cache",
            PAST,
            id="the variable of a condition",
        ),
        pytest.param(
            "kv_cache",
            [
                ("        past_length = 0\n", "        past_length, new = 0, (k, v)\n"),
                ("return out, (k, v)", "return out, new"),
            ],
            "only-new-returned",
            "return out, new",
            id="right values that are returned",
        ),
        pytest.param(
            "mha_fused",
            [
                ("q, k, v = qkv.unbind(dim=0)", "k, q, v = qkv[0], qkv[1], qkv[2]"),
                ("scores / math.sqrt(self.head_dim)", "scores * self.head_dim**-0.5"),
            ],
            "order-k-q-v",
            "k, q, v =",
            id="right parts with wrong names",
        ),
    ],
)
def test_line_that_does_what_the_mistake_does_is_found(
    grader: Grader, folder: str, changes: list[tuple[str, str]], name: str, line: str
) -> None:
    """The first wrong value is made by another line."""
    source = pack_reader.solution(CHALLENGES[folder])
    for was, now in changes:
        assert source.count(was) == 1, was
        source = source.replace(was, now)
    _, found = diagnosed(grader, CHALLENGES[folder], source)
    assert [mistake.id for mistake in found.mistakes] == [name]
    assert found.first_line is not None
    assert found.first_line.text.startswith(line)


@pytest.mark.parametrize(
    ("folder", "mistake", "before", "after"),
    [
        pytest.param("mha", "no-dropout", "weights = torch.softmax(", "@ v", id="after a value"),
        pytest.param(
            "rmsnorm", "statistics-in-the-input-dtype", None, "x.pow(2)", id="after an input"
        ),
    ],
)
def test_missing_step_that_makes_no_value_wrong_is_between_its_neighbours(
    grader: Grader, folder: str, mistake: str, before: str | None, after: str
) -> None:
    """The span goes from the line that makes the value to the line that uses it."""
    challenge = CHALLENGES[folder]
    source = with_mistakes(challenge, mistake).replace("dropped", "heavy")
    for was, now in (("        wide = x\n", ""), ("wide.square()", "x.pow(2)"), ("wide *", "x *")):
        source = source.replace(was, now)
    lines = source.splitlines()
    _, found = diagnosed(grader, challenge, source)
    assert found.missing
    assert found.span is not None
    assert after in lines[found.span[1] - 1]
    assert (before or after) in lines[found.span[0] - 1]
