"""Cases, weights and expected values of a challenge and a seed."""

from pathlib import Path

import pytest
import torch

from trainer.grading import reference
from trainer.grading.case_set import load_case_set
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.worker.execution import build


def test_the_reference_is_built_twice_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in float64, for its parameters and its values, and once in a lower dtype."""
    built: list[torch.dtype] = []
    monkeypatch.setattr(reference, "build", lambda *given: built.append(given[4]) or build(*given))
    case_set = load_case_set(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"), 2)
    case_set.expect()
    assert len(built) == 2 * len(case_set.cases)
    assert built.count(torch.float64) == len(case_set.cases)


def test_a_plain_output_that_rounding_decides_is_the_packs_fault(pack: Path) -> None:
    """A threshold that a lower dtype crosses would refuse right answers."""
    path = pack / "solutions" / "signs" / "solution.py"
    path.write_text(path.read_text().replace("int((x > 0).sum())", "int(x.sum() * 10**6)"))
    with pytest.raises(PackError, match="rounding decides"):
        load_case_set(pack_reader.find_challenge(pack, "signs"), 3).expect()
