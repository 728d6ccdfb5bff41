"""Tests of the choice of the known mistakes that a person would write."""

import pytest

from trainer.model.challenge import Mistake
from trainer.packs import pack_reader
from trainer.packs.likely_mistakes import likely_mistakes
from trainer.packs.mistakes import read_mistakes

SOURCE = '''"""A text that mentions clamp and sort."""


def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)  # clamp
    scores = scores / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v
'''


def is_likely(was: str, now: str) -> bool:
    """Return whether a person would write this patch of the source."""
    return bool(likely_mistakes(SOURCE, [Mistake("a", was, now, "", "")]))


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param("    scores = scores / math.sqrt(q.shape[-1])\n", "", id="line left out"),
        pytest.param("math.sqrt(q.shape[-1])", "q.shape[-1]", id="call left out"),
        pytest.param("math.sqrt(q.shape[-1])", "(q.shape[-1] ** 1 / 2)", id="precedence"),
        pytest.param("scores / math", "scores * math", id="operator"),
        pytest.param("~mask", "mask", id="sign of the mask"),
        pytest.param('float("-inf")', "-1e9", id="power of ten"),
        pytest.param('float("-inf")', "0.0", id="zero"),
        pytest.param("dim=-1", "dim=-2", id="axis"),
        pytest.param("weights @ v", "weights @ k", id="other name"),
        pytest.param("softmax(scores,", "sigmoid(scores,", id="function of the library"),
        pytest.param("weights @ v", "(1 - weights) @ v", id="arithmetic with an effect"),
    ],
)
def test_slip_is_likely(was: str, now: str) -> None:
    """A person confuses names, axes and signs, or forgets a line."""
    assert is_likely(was, now)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param("if mask is not None:", "if False:", id="constant condition"),
        pytest.param("is not None:", "is not None and False:", id="constant part of a condition"),
        pytest.param("is not None:", "is not None or True:", id="condition that always holds"),
        pytest.param("weights @ v", "weights @ v * 0", id="times zero"),
        pytest.param("weights @ v", "0 + weights @ v", id="zero plus"),
        pytest.param("weights @ v", "weights @ v - 0.0", id="minus zero"),
        pytest.param("weights @ v", "weights @ v / 1", id="divided by one"),
        pytest.param("weights = torch.softmax(scores, dim=-1)", "scores = scores", id="x = x"),
        pytest.param("weights @ v", "weights @ v @ v", id="same factor twice"),
        pytest.param("(scores, dim", "(scores.half().float(), dim", id="cast and cast back"),
        pytest.param("~mask", "mask.logical_not_()", id="argument changed in place"),
        pytest.param(
            "k.transpose", "attention.__dict__.setdefault(0, k).transpose", id="kept for later"
        ),
        pytest.param("def attention", "@no_grad()\ndef attention", id="decorator"),
        pytest.param("scores = scores.masked_fill", "pass  # ", id="empty block"),
        pytest.param("weights @ v", "weights @ (v if mask is None else k)", id="special case"),
        pytest.param("weights @ v", "weights @ v * (len(q) > 1)", id="comparison"),
        pytest.param(
            "weights @ v", "torch.stack([row @ v for row in weights])", id="loop in the line"
        ),
        pytest.param("weights @ v", "weights.clamp(min=0).sort() @ v", id="two new functions"),
        pytest.param("weights = torch", "kept = torch", id="new variable"),
        pytest.param("-inf", 'x") * 0.37 * float("', id="unusual number"),
        pytest.param("weights @ v", "weights @ v\n    return v", id="more lines"),
        pytest.param(
            "weights @ v", "weights @ v.transpose(-2, -1).transpose(-2, -1)", id="much longer"
        ),
    ],
)
def test_contrived_line_is_not_likely(was: str, now: str) -> None:
    """A reader sees at once that such a line was made for an exercise."""
    assert not is_likely(was, now)


def test_mistake_that_does_not_fit_is_not_likely() -> None:
    """`was` must occur exactly once."""
    assert not is_likely("scores", "weights")
    assert not is_likely("absent", "q")


def test_likely_mistakes_keep_their_order_and_are_enough() -> None:
    """Each challenge keeps at least 30 mistakes, which is more than a third."""
    for challenge in pack_reader.read_pack(pack_reader.built_in_pack()):
        mistakes = read_mistakes(challenge)
        likely = likely_mistakes(pack_reader.solution(challenge), mistakes)
        assert likely == [mistake for mistake in mistakes if mistake in likely]
        assert 8 <= len(likely) < len(mistakes), challenge.id
        assert len(likely) > len(mistakes) / 3, challenge.id
