"""Expected results: the reference runs twice per case and must not depend on rounding."""

from pathlib import Path

import pytest
import torch

from attn_drill.grading import _reference
from attn_drill.grading._reference import Reference
from attn_drill.grading._tolerance import lower_dtype
from attn_drill.grading.case_set import load_case_set
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.worker.execution import build
from tests.support.checks import GQA

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())


def test_reference_is_built_twice_for_each_constructor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in float64, for the parameters and the values, and once in a lower dtype."""
    built: list[torch.dtype] = []
    monkeypatch.setattr(
        _reference, "build", lambda *args, **more: built.append(args[4]) or build(*args, **more)
    )
    case_set = load_case_set(GQA, 2)
    case_set.expect()
    constructors = {
        (repr(sorted(case.init.items())), lower_dtype(case.dtype)) for case in case_set.cases
    }
    assert built.count(torch.float64) == len({arguments for arguments, _ in constructors})
    assert len(built) - built.count(torch.float64) == len(constructors) < len(case_set.cases)


@pytest.mark.thorough
@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "challenge",
    [challenge for challenge in CHALLENGES if challenge.kind == "module"],
    ids=lambda challenge: challenge.id,
)
def test_shared_modules_give_the_results_of_new_modules(
    challenge: Challenge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that several cases share leaves nothing behind from one case to the next."""
    shared = load_case_set(challenge, 3)
    found = shared.expect()
    monkeypatch.setattr(Reference, "build", Reference._build_anew)
    alone = load_case_set(challenge, 3).expect()
    for prepared, taken, wanted in zip(shared.prepared, found, alone, strict=True):
        for group in ("outputs", "second", "gradients"):
            values, expected = getattr(taken, group), getattr(wanted, group)
            assert values.keys() == expected.keys()
            for name, value in values.items():
                where = f"{prepared.case.name}: {group} {name}"
                assert torch.equal(value.value, expected[name].value), where
                assert value.lost == expected[name].lost, where
        assert taken.plain == wanted.plain


def test_plain_output_that_depends_on_rounding_is_an_error_of_the_pack(pack: Path) -> None:
    """If a lower dtype crosses a threshold, right answers would be refused."""
    path = pack / "solutions" / "signs" / "solution.py"
    path.write_text(path.read_text().replace("int((x > 0).sum())", "int(x.sum() * 10**6)"))
    with pytest.raises(PackError, match="rounding decides"):
        load_case_set(pack_reader.find_challenge(pack, "signs"), 3).expect()
