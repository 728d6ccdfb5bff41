"""The call of realistic size that a challenge describes, and the faults of such a description."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from attn_drill.casekit import realistic_call, shaped
from attn_drill.grading.content import load_content
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from tests.support.paths import TINY_PACK


def test_shaped_tensor_has_no_values() -> None:
    """A tensor of 4 TiB takes no memory."""
    tensor = shaped(1 << 20, 1 << 20, dtype="bool")
    assert (tensor.shape, tensor.dtype, tensor.is_meta) == ((1 << 20, 1 << 20), torch.bool, True)
    assert shaped(2).dtype is torch.float32


def test_realistic_call_is_a_case_without_gradients() -> None:
    """Its name is the size in words."""
    case = realistic_call("a layer", init={"d_model": 8}, sizes={"L": 3}, x=shaped(1, 3, 8))
    assert (case.name, case.init, case.sizes) == ("a layer", {"d_model": 8}, {"L": 3})
    assert not case.gradients
    assert list(case.inputs) == ["x"]


@pytest.fixture
def with_realistic(tmp_path: Path) -> Callable[[str], object]:
    """Return a function that returns the realistic call of a pack whose cases.py ends so."""

    def realistic(text: str) -> object:
        pack = Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))
        challenge = pack_reader.find_challenge(pack, "prefix-sum")
        with (challenge.folder / "cases.py").open("a") as file:
            file.write(text)
        return load_content(challenge).realistic()

    return realistic


def test_challenge_may_describe_no_realistic_call(
    with_realistic: Callable[[str], object],
) -> None:
    """Then the cases alone are measured."""
    assert with_realistic("") is None


@pytest.mark.parametrize(
    ("body", "says"),
    [("1 / 0", "raises ZeroDivisionError"), ("return 3", "returns an object of the type int")],
)
def test_wrong_description_is_a_fault_of_the_pack(
    with_realistic: Callable[[str], object], body: str, says: str
) -> None:
    """The sentence has the path. The grading process goes on."""
    with pytest.raises(PackError, match=rf"cases\.py.*: realistic\(\) {says}"):
        with_realistic(f"\n\ndef realistic():\n    {body}\n")
