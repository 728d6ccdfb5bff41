"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import re

import pytest
import torch

from tests.support.diagnosis import CHALLENGES, SEED, diagnosed
from trainer.diagnosis.effective_mask import _difference, attended_keys, make_probe
from trainer.diagnosis.mask_question import outputs_of
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.grading.grader import Grader
from trainer.model.challenge import Challenge
from trainer.packs import pack_reader

MASKS = {
    "inverted": ("masked_fill(~mask", "masked_fill(mask", "the mask is inverted"),
    "ignored": ("if mask is not None:", "if False:", "as if there were no mask"),
    "moved": ("masked_fill(~mask", "masked_fill(~mask.roll(1, -1)", ""),
}


@pytest.mark.parametrize("name", MASKS)
def test_effective_mask(grader: Grader, name: str) -> None:
    """Whom each query attends to is seen from outside, whatever the code."""
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
    "one key too many": ("tril(diagonal=past_length)", "tril(diagonal=past_length + 1)"),
    "the past is dropped": ("if past_kv is not None:", "if False:"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("folder", ["kv_cache", "gqa_kv_cache"])
@pytest.mark.parametrize("name", CACHED)
def test_the_picture_has_the_keys_of_the_cache(grader: Grader, folder: str, name: str) -> None:
    """The columns are the cached keys, then the new ones; the expected ones are causal."""
    was, now = CACHED[name]
    source = pack_reader.solution(CHALLENGES[folder])
    assert source.count(was) == 1
    _, found = diagnosed(grader, CHALLENGES[folder], source.replace(was, now))
    picture = found.effective_mask
    assert picture is not None
    said = re.search(r"the first (\d+) keys are in the cache", picture.difference)
    assert said is not None
    length, keys = len(picture.expected), len(picture.expected[0])
    assert keys == int(said[1]) + length
    rows = ["#" * (keys - length + 1 + row) + "." * (length - 1 - row) for row in range(length)]
    assert list(picture.expected) == rows
    assert picture.actual != picture.expected


PROBED = [one for one in CHALLENGES.values() if "KEYS" in (one.folder / "cases.py").read_text()]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("challenge", PROBED, ids=[one.id for one in PROBED])
def test_right_answers_are_proved(grader: Grader, challenge: Challenge) -> None:
    """Every right way to write it attends to the same keys, and the proof finds so; with scripts,
    and where it is not known which layer is which, nothing can be run here."""
    case_set = grader.case_set(challenge, SEED)
    kept = PatchedReferences(case_set, grader.workers.check_interrupt)
    paths = [challenge.solutions / "solution.py"]
    paths += sorted((challenge.solutions / "also_right").glob("*.py"))
    proved, masked = 0, 0
    for number, case in enumerate(case_set.cases):
        asked = None if case.probe or case.mode == "train" else make_probe(case_set, number)
        if asked is None or proved >= 4:
            continue
        ended = kept.run(asked.case_set, kept.source, "outputs")
        right = attended_keys(asked, outputs_of(ended) or [])
        if right is None:
            assert case.check != "masks" or "head" in case.name or "full" in case.name, case.name
            continue
        proved += 1
        masked += not bool(right.pattern.any(dim=0).all())
        for path in paths:
            source = path.read_text()
            if "torch.jit" in source:
                continue
            ended = kept.run(asked.case_set, source, "outputs")
            if len(ended.reply.assignments) > 1:
                continue
            mine = attended_keys(asked, outputs_of(ended) or [], right)
            assert mine is not None, (path.stem, case.name)
            assert torch.equal(mine.pattern, right.pattern), (path.stem, case.name)
    assert proved == 4


def test_differences_of_masks_in_words() -> None:
    """Inverted, shifted, transposed, without the diagonal, of item 0 for all."""
    causal = torch.ones(2, 5, 5, dtype=torch.bool).tril()
    two = torch.stack([causal[0], torch.ones(5, 5, dtype=torch.bool).triu()])
    assert "inverted" in _difference(~causal, causal)
    assert "1 key too far to the right" in _difference(
        torch.ones(2, 5, 5, dtype=torch.bool).tril(1), causal
    )
    assert "2 keys too far to the left" in _difference(
        torch.ones(2, 4, 6, dtype=torch.bool).tril(), torch.ones(2, 4, 6, dtype=torch.bool).tril(2)
    )
    assert "transposed" in _difference(causal.transpose(1, 2), causal)
    ragged = torch.rand(2, 5, 5) > 0.4
    eye = torch.eye(5, dtype=torch.bool)
    assert "does not attend to itself" in _difference(ragged & ~eye, ragged | eye)
    assert "item 0" in _difference(two[:1].expand(2, 5, 5), two)
    assert "1 hidden keys are attended to" in _difference(
        causal
        | (torch.arange(5)[:, None] == 0)
        & (torch.arange(5) == 4)
        & (torch.arange(2) == 0)[:, None, None],
        causal,
    )
