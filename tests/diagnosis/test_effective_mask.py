"""Tests of the proof which keys each query attends to."""

import re

import pytest
import torch

from tests.support.diagnosis import CHALLENGES, SEED, diagnosed
from trainer.diagnosis.effective_mask import _compared, _difference, attended_keys, make_probe
from trainer.diagnosis.mask_question import outputs_of
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.grading.grader import Grader
from trainer.model.challenge import Challenge
from trainer.packs import pack_reader

MASKS = {
    "inverted": ("masked_fill(~mask", "masked_fill(mask", "the mask is inverted"),
    "ignored": ("if mask is not None:", "if False:", "as if there were no mask"),
    "shifted": ("masked_fill(~mask", "masked_fill(~mask.roll(1, -1)", ""),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MASKS)
def test_wrong_mask_is_shown_and_described(grader: Grader, name: str) -> None:
    """The effective mask is found from outputs alone, independent of the code."""
    was, now, words = MASKS[name]
    challenge = CHALLENGES["gqa"]
    _, found = diagnosed(grader, challenge, pack_reader.solution(challenge).replace(was, now))
    assert found.effective_mask is not None
    assert words in found.effective_mask.difference
    assert found.effective_mask.actual != found.effective_mask.expected


CACHED = {
    "the past is hidden": (
        "tril(diagonal=past_length)",
        "tril(diagonal=past_length).triu(past_length)",
    ),
    "counted from the first key": ("tril(diagonal=past_length)", "tril()"),
    "an extra key": ("tril(diagonal=past_length)", "tril(diagonal=past_length + 1)"),
    "the past is dropped": ("if past_kv is not None:", "if False:"),
}


@pytest.mark.sampled(4)
@pytest.mark.thorough  # test_cached_keys_are_counted needs no grader
@pytest.mark.parametrize("folder", ["kv_cache", "gqa_kv_cache"])
@pytest.mark.parametrize("name", CACHED)
def test_picture_has_cached_keys_first(grader: Grader, folder: str, name: str) -> None:
    """The columns are the cached keys, then the new keys. The expected pattern is causal."""
    was, now = CACHED[name]
    source = pack_reader.solution(CHALLENGES[folder])
    assert source.count(was) == 1
    _, found = diagnosed(grader, CHALLENGES[folder], source.replace(was, now))
    picture = found.effective_mask
    assert picture is not None
    match = re.search(r"the first (\d+) keys are in the cache", picture.difference)
    assert match is not None
    length, keys = len(picture.expected), len(picture.expected[0])
    assert keys == int(match[1]) + length
    rows = ["#" * (keys - length + 1 + row) + "." * (length - 1 - row) for row in range(length)]
    assert list(picture.expected) == rows
    assert picture.actual != picture.expected


PROBED = [
    challenge
    for challenge in CHALLENGES.values()
    if "KEYS" in (challenge.folder / "cases.py").read_text()
]


@pytest.mark.thorough
@pytest.mark.sampled(18)
@pytest.mark.parametrize("challenge", PROBED, ids=[challenge.id for challenge in PROBED])
def test_all_right_answers_have_the_same_proved_pattern(
    grader: Grader, challenge: Challenge
) -> None:
    """The proof succeeds for every right answer and gives the pattern of the reference.

    Scripted answers, and answers with several possible assignments of layers, cannot run here.
    """
    case_set = grader.case_set(challenge, SEED)
    references = PatchedReferences(case_set, grader.workers.check_interrupt)
    paths = [challenge.solutions / "solution.py"]
    paths += sorted((challenge.solutions / "also_right").glob("*.py"))
    proved = 0
    for case_index, case in enumerate(case_set.cases):
        is_suitable = not case.probe and case.mode != "train"
        probe = make_probe(case_set, case_index) if is_suitable else None
        if probe is None or proved >= 4:
            continue
        result = references.run(probe.case_set, references.source, "outputs")
        right = attended_keys(probe, outputs_of(result) or [])
        if right is None:
            words = ("head", "full", "scores")  # a weight may be too small to be seen
            assert case.check != "masks" or any(word in case.name for word in words), case.name
            continue
        proved += 1
        for path in paths:
            source = path.read_text()
            if "torch.jit" in source:
                continue
            result = references.run(probe.case_set, source, "outputs")
            if len(result.reply.assignments) > 1:
                continue
            found = attended_keys(probe, outputs_of(result) or [], right)
            assert found is not None, (path.stem, case.name)
            assert torch.equal(found.pattern, right.pattern), (path.stem, case.name)
    assert proved == 4


def test_differences_of_masks_in_words() -> None:
    """Every kind of difference has its own sentence."""
    causal = torch.ones(2, 5, 5, dtype=torch.bool).tril()
    two_items = torch.stack([causal[0], torch.ones(5, 5, dtype=torch.bool).triu()])
    assert "inverted" in _difference(~causal, causal)
    assert "shifted by 1 key to the right" in _difference(
        torch.ones(2, 5, 5, dtype=torch.bool).tril(1), causal
    )
    assert "shifted by 2 keys to the left" in _difference(
        torch.ones(2, 4, 6, dtype=torch.bool).tril(), torch.ones(2, 4, 6, dtype=torch.bool).tril(2)
    )
    assert "transposed" in _difference(causal.transpose(1, 2), causal)
    ragged = torch.rand(2, 5, 5) > 0.4
    eye = torch.eye(5, dtype=torch.bool)
    assert "no token attends to itself" in _difference(ragged & ~eye, ragged | eye)
    assert "item 0" in _difference(two_items[:1].expand(2, 5, 5), two_items)
    assert "queries attend to 1 key that should be hidden" in _difference(
        causal
        | (torch.arange(5)[:, None] == 0)
        & (torch.arange(5) == 4)
        & (torch.arange(2) == 0)[:, None, None],
        causal,
    )


def test_complement_is_no_shift() -> None:
    """A query that sees every key keeps them all if a large number is taken from all its scores."""
    lengths = torch.tensor([2, 4])
    padding = (torch.arange(4) < lengths[:, None])[:, None].expand(2, 4, 4)
    complement = ~padding | padding.all(dim=-1, keepdim=True)
    assert "inverted" in _difference(complement, padding)
    assert "shifted" not in _difference(complement, padding)


def test_shift_holds_over_all_keys() -> None:
    """The keys that a shift uncovers continue the pattern, or no query attends to them."""
    causal = torch.ones(1, 5, 5, dtype=torch.bool).tril()
    shifted = torch.ones(1, 5, 5, dtype=torch.bool).tril(1)
    assert "shifted by 1 key to the right" in _difference(shifted, causal)
    broken = shifted.clone()
    broken[:, 2:, 0] = False  # the uncovered key is no longer like its neighbour
    assert "shifted" not in _difference(broken, causal)


def test_cached_keys_are_counted() -> None:
    """A mask without a difference has the number of cached keys too."""
    pattern = torch.ones(1, 2, 1, 5, dtype=torch.bool)
    found = _compared(pattern, pattern.clone(), 3)
    assert found is not None
    assert found.cached == 3
