"""Tests of the search for the line to blame."""

import pytest

from attn_drill.diagnosis._locate import Locator
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Submission
from attn_drill.model.report import Diagnosis
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, diagnosed
from tests.support.grading import GPT, diagnoser_of, few_cases, judged, with_mistakes

SDPA = CHALLENGES["sdpa"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        ("keys-detached", ".detach()"),
        ("mask-changed-in-place", "mask"),
        ("loop-over-queries", "for "),
    ],
)
def test_line_of_a_failure_that_is_not_a_wrong_value(
    grader: Grader, mistake: str, text: str
) -> None:
    """The line cuts gradients, writes into an input, or is a Python loop."""
    answer = judged(grader, SDPA, with_mistakes(SDPA, mistake))
    locator = Locator(answer.references, answer.judgement, answer.reruns)
    place = locator.place_of_other_failure()
    assert place.first_line is not None
    assert text in place.first_line.text
    assert place.case == answer.first.number


@pytest.mark.thorough
def test_line_of_a_refused_size_is_the_first_division(grader: Grader) -> None:
    """The constructor must refuse bad sizes before it divides."""
    challenge = CHALLENGES["mha"]
    answer = judged(grader, challenge, with_mistakes(challenge, "d-model-not-checked"))
    assert answer.first.check == "bad sizes"
    locator = Locator(answer.references, answer.judgement, answer.reruns)
    place = locator.place_of_other_failure()
    assert place.first_line is not None
    assert "//" in place.first_line.text


def diagnosis_of(grader: Grader, mistake: str) -> tuple[Diagnosis, CaseSet]:
    """Return the diagnosis of the small GPT with a known mistake, and its cases."""
    submission = Submission("answer.py", with_mistakes(GPT, mistake))
    judgement = grader.judge(few_cases(grader), submission)
    diagnosis = diagnoser_of(grader).diagnose(judgement)
    assert diagnosis is not None
    return diagnosis, judgement.case_set


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mistake", ["sum-for-mean", "mean-over-the-batch-only"])
def test_first_wrong_part_is_explained(grader: Grader, mistake: str) -> None:
    """The loss and the training step are wrong; the training step uses the loss."""
    diagnosis, case_set = diagnosis_of(grader, mistake)
    assert diagnosis.case is not None
    assert case_set.cases[diagnosis.case - 1].part == "loss"
    assert diagnosis.first_line is not None
    assert diagnosis.first_line.function == "next_token_loss"


@pytest.mark.sampled(2)
@pytest.mark.thorough
@pytest.mark.parametrize("mistake", ["no-step", "gradients-zeroed-after-backward"])
def test_line_of_a_right_part_is_not_blamed(grader: Grader, mistake: str) -> None:
    """The model is right, although it gives wrong outputs after a wrong training step."""
    diagnosis, _ = diagnosis_of(grader, mistake)
    assert len(diagnosis.mistakes) == 1
    assert diagnosis.first_line is None or diagnosis.first_line.function == "train_step"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("k = self.k_proj(x)", "k = self.q_proj(x)"),
        ("v = self.v_proj(x)", "v = self.q_proj(x)"),
    ],
)
def test_right_numbers_of_another_step_are_not_called_right(
    grader: Grader, right: str, wrong: str
) -> None:
    """The numbers of q are right, but not in the place of k or v."""
    challenge = CHALLENGES["kv_cache"]
    source = pack_reader.solution(challenge).replace(right, wrong)
    _, found = diagnosed(grader, challenge, source)
    line = next(number for number, text in enumerate(source.splitlines(), 1) if wrong in text)
    assert found.layout == f"line {line} makes q again"
    assert found.start == line
    assert line not in [operand.line for operand in found.operands]
    assert found.first_line is not None
    assert " @ " in found.first_line.text


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("challenge", "right", "wrong", "span"),
    [
        pytest.param(
            "sliding_window",
            "distance >= 0",
            "distance >= -1",
            ["distance >= -1"],
            id="a mask that is made from no input is blamed itself",
        ),
        pytest.param(
            "decoder_block",
            "memory_mask[:, None, None, :]",
            "~memory_mask[:, None, None, :]",
            ["~memory_mask"],
            id="a mask may be the opposite of the right mask",
        ),
        pytest.param(
            "attention_sink",
            "q.shape[1], q.shape[-1]",
            "q.shape[1], k.shape[-2]",
            ["k.shape[-2]", "math.sqrt(head_dim)"],
            id="a number is wrong where a line before binds it",
        ),
        pytest.param(
            "stable_softmax",
            "x.amax(dim=dim, keepdim=True)",
            "x.max()",
            ["x.max()"],
            id="a single entry cannot be compared",
        ),
        pytest.param(
            "tree_attention/lists_of_ancestors",
            "visible[node][ancestor]",
            "visible[ancestor][node]",
            ["visible[ancestor][node]"],
            id="lists of Python become a tensor later",
        ),
    ],
)
def test_span_contains_the_mistake(
    grader: Grader, challenge: str, right: str, wrong: str, span: list[str]
) -> None:
    """The span has all lines that may be wrong, and few others."""
    name, _, other = challenge.partition("/")
    source = pack_reader.solution(CHALLENGES[name])
    if other:
        source = pack_reader.read_text(CHALLENGES[name].solutions / "also_right" / f"{other}.py")
    assert right in source
    _, found = diagnosed(grader, CHALLENGES[name], source.replace(right, wrong))
    assert found.span is not None
    first, last = found.span
    lines = source.replace(right, wrong).splitlines()[first - 1 : last]
    assert [text for text in span if not any(text in line for line in lines)] == []
    assert len(lines) <= 9


def test_layer_that_a_failure_names_is_shown(grader: Grader) -> None:
    """The module has a bias that the contract does not have."""
    challenge = CHALLENGES["swiglu"]
    right = "self.up_proj = nn.Linear(dim, hidden_dim, bias=False)"
    source = pack_reader.solution(challenge)
    assert right in source
    _, found = diagnosed(
        grader, challenge, source.replace(right, right.replace(", bias=False", ""))
    )
    assert found.first_line is not None
    assert "self.up_proj" in found.first_line.text


def test_mask_is_not_called_right(grader: Grader) -> None:
    """The opposite of the right mask equals it, because masks have two notations."""
    right = """
        scores = scores.masked_fill(~mask, float("-inf"))
"""
    wrong = """
        bias = torch.zeros(mask.shape).masked_fill(mask, float("-inf")).to(scores.dtype)
        scores = scores + bias
"""
    source = pack_reader.solution(SDPA)
    assert right in source
    _, found = diagnosed(grader, SDPA, source.replace(right, wrong))
    assert found.first_line is not None
    assert found.first_line.text == "scores = scores + bias"
    assert [operand.name for operand in found.operands] == ["scores"]
