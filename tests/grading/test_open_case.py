"""Tests of cases that are opened in the learner's own process."""

from pathlib import Path

import pytest

from attn_drill.grading.open_case import open_case
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, SEED
from tests.support.grading import with_mistakes
from tests.support.paths import TINY_PACK

# A module, functions, a class, a cache, and a challenge without tensors.
KINDS = ["gqa", "rolling_cache", "online_softmax", "mini_gpt", "attention_cost", "kv_cache"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("folder", KINDS)
def test_right_answer_passes_in_every_case(folder: str, tmp_path: Path) -> None:
    """The weights are loaded and the inputs are new in every run."""
    path = tmp_path / CHALLENGES[folder].file_name
    path.write_text(pack_reader.solution(CHALLENGES[folder]))
    for number in (1, 2, 4):
        case = open_case(CHALLENGES[folder].id, path, SEED, number)
        case.compare(case.run())
        case.compare(case.run())


def test_wrong_answer_differs(tmp_path: Path) -> None:
    """The error has the name of the output and the count of the wrong entries."""
    path = tmp_path / "gqa.py"
    path.write_text(with_mistakes(CHALLENGES["gqa"], "no-scale"))
    case = open_case("gqa", path, SEED, 1)
    with pytest.raises(AssertionError, match=r"out: [^$]*Mismatched elements: \d+"):
        case.compare(case.run())
    path.write_text(pack_reader.solution(CHALLENGES["gqa"]).replace("self.q_proj", "self.queries"))
    renamed = open_case("gqa", path, SEED, 1)
    renamed.compare(renamed.run())


def test_bad_numbers_and_weights_have_a_sentence(tmp_path: Path) -> None:
    """A challenge of a named pack is found."""
    path = tmp_path / "x.py"
    path.write_text(pack_reader.solution(pack_reader.find_challenge(TINY_PACK, "prefix-sum")))
    case = open_case("prefix-sum", path, SEED, 1, pack=TINY_PACK)
    case.compare(case.run())
    with pytest.raises(DrillError, match="There is no case 99"):
        open_case("prefix-sum", path, SEED, 99, pack=TINY_PACK)
    layer = "nn.Linear(d_model, d_model, bias=bias)"
    source = pack_reader.solution(CHALLENGES["gqa"])
    assert source.count(layer) == 2
    path.write_text(source.replace(layer, "nn.Linear(d_model, d_model + 1, bias=bias)"))
    with pytest.raises(DrillError, match="do not fit"):
        open_case("gqa", path, SEED, 1)
