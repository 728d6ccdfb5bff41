"""Cases, weights and expected values of a challenge and a seed."""

import shutil
from pathlib import Path

import pytest
import torch

from tests.support.paths import TINY_PACK
from trainer.grading import reference
from trainer.grading.case_set import load_case_set
from trainer.model.errors import GraderError, PackError
from trainer.packs import pack_reader
from trainer.worker.execution import build
from trainer.worker.protocol import Request, decode

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the small pack, to be broken."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))


def test_a_seed_gives_the_same_cases() -> None:
    """Requests are equal byte by byte."""
    assert load_case_set(GQA, 3).request() == load_case_set(GQA, 3).request()
    assert load_case_set(GQA, 3).request() != load_case_set(GQA, 4).request()


def test_the_reference_is_built_twice_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in float64, for its parameters and its values, and once in a lower dtype."""
    built: list[torch.dtype] = []
    monkeypatch.setattr(reference, "build", lambda *given: built.append(given[4]) or build(*given))
    case_set = load_case_set(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"), 2)
    case_set.expect()
    assert len(built) == 2 * len(case_set.cases)
    assert built.count(torch.float64) == len(case_set.cases)


def test_the_worker_is_told_no_expected_value() -> None:
    """No output of the reference, on first or second inputs, lies among the tensors of the request."""
    case_set = load_case_set(GQA, 3)
    _, tensors = decode(case_set.request(), Request)
    told = [tensor.to(torch.float64) for tensor in tensors]
    for prepared in case_set.prepared:
        want = prepared.expected
        for value in [*want.outputs.values(), *want.again.values()]:
            if bool((value.value != 0).any()):
                assert not any(
                    tensor.shape == value.value.shape and torch.allclose(tensor, value.value)
                    for tensor in told
                )


def test_inputs_are_rounded_to_the_dtype_before_the_reference_sees_them() -> None:
    """A submission is not judged by digits that the dtype cannot hold."""
    case_set = load_case_set(GQA, 3)
    number = next(index for index, case in enumerate(case_set.cases) if case.dtype == "bfloat16")
    assert all(
        tensor.dtype in (torch.bfloat16, torch.bool)
        for tensor in case_set.prepared[number].tensors.values()
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "error", "says"),
    [
        pytest.param(
            "challenges/prefix_sum/cases.py",
            "def drive",
            "def driven",
            PackError,
            "defines no `drive`",
            id="no drive",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'outputs={"out": "B L"}',
            'outputs={"out": "L B"}',
            PackError,
            "the reference gives",
            id="wrong dims",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'case("forwards", B=3, L=5, **forwards)',
            "1 / 0",
            PackError,
            r"cases\(\) raises ZeroDivisionError",
            id="raises",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'return {"out"',
            'return {"other"',
            PackError,
            "names \\['out'\\], drive gives \\['other'\\]",
            id="wrong name",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            '"reverse": reverse',
            '"reverse": float(draw.normal())',
            PackError,
            "draws a plain input",
            id="plain input of the values",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            '"""Cases',
            "1/0\n'''Cases",
            PackError,
            "cannot be loaded",
            id="broken cases",
        ),
        pytest.param(
            "solutions/prefix_sum/solution.py",
            "torch.cumsum(x, dim=-1)",
            "torch.nope(x)",
            GraderError,
            "The reference of prefix-sum fails on case",
            id="broken reference",
        ),
        pytest.param(
            "solutions/prefix_sum/solution.py",
            "return torch.cumsum(x, dim=-1)",
            "return x / 0 * 0",
            GraderError,
            "not finite",
            id="NaN from the reference",
        ),
    ],
)
def test_broken_content(
    pack: Path, file: str, old: str, new: str, error: type[Exception], says: str
) -> None:
    """The pack's own faults are named as such, never put on the learner."""
    path = pack / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(error, match=says):
        load_case_set(pack_reader.find_challenge(pack, "prefix-sum"), 1).expect()


def test_a_plain_output_that_rounding_decides_is_the_packs_fault(pack: Path) -> None:
    """A threshold that a lower dtype crosses would refuse right answers."""
    path = pack / "solutions" / "signs" / "solution.py"
    path.write_text(path.read_text().replace("int((x > 0).sum())", "int(x.sum() * 10**6)"))
    with pytest.raises(PackError, match="rounding decides"):
        load_case_set(pack_reader.find_challenge(pack, "signs"), 3).expect()
