"""Expected results: the reference runs twice per case and must not depend on rounding."""

from pathlib import Path

import pytest
import torch

from tests.support.checks import GQA
from trainer.grading import reference
from trainer.grading.case_set import load_case_set
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.worker.execution import build


def test_reference_is_built_twice_per_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in float64, for the parameters and the values, and once in a lower dtype."""
    built: list[torch.dtype] = []
    monkeypatch.setattr(reference, "build", lambda *args: built.append(args[4]) or build(*args))
    case_set = load_case_set(GQA, 2)
    case_set.expect()
    assert len(built) == 2 * len(case_set.cases)
    assert built.count(torch.float64) == len(case_set.cases)


def test_plain_output_that_depends_on_rounding_is_an_error_of_the_pack(pack: Path) -> None:
    """If a lower dtype crosses a threshold, right answers would be refused."""
    path = pack / "solutions" / "signs" / "solution.py"
    path.write_text(path.read_text().replace("int((x > 0).sum())", "int(x.sum() * 10**6)"))
    with pytest.raises(PackError, match="rounding decides"):
        load_case_set(pack_reader.find_challenge(pack, "signs"), 3).expect()
