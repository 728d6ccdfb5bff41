"""The interface that a stub defines."""

from pathlib import Path

import pytest

from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import signatures


def test_signatures_come_from_the_stub() -> None:
    """Constructor and forward have names, order and defaults of the stub, without `self`."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    found = {signature.name: signature.parameters for signature in signatures(gqa)}
    assert list(found) == ["GroupedQueryAttention.__init__", "GroupedQueryAttention.forward"]
    assert [parameter.name for parameter in found["GroupedQueryAttention.forward"]] == ["x", "mask"]
    assert found["GroupedQueryAttention.__init__"][3].default == 0.0
    assert found["GroupedQueryAttention.__init__"][2].required


@pytest.mark.parametrize(
    ("stub", "message"),
    [
        ("def other(): ...\n", "defines no prefix_sum, which"),
        ("def prefix_sum(x:\n    # 1\n", r"stub\.py.* not valid Python"),
        ("def prefix_sum(x)\n", r"stub\.py, line 1: .*expected ':'"),
        ("def prefix_sum(x, n=len('a')): ...\n", "the default of n must be a literal"),
    ],
)
def test_stub_without_a_readable_interface_is_refused(
    tiny_pack: Path, stub: str, message: str
) -> None:
    """A stub that does not define the entry with literal defaults is an error of the pack."""
    (tiny_pack / "challenges/prefix_sum/stub.py").write_text(stub)
    with pytest.raises(PackError, match=message):
        signatures(pack_reader.find_challenge(tiny_pack, "prefix-sum"))


def test_dtype_is_a_default(tiny_pack: Path) -> None:
    """Its text has no quotes in reports."""
    stub = "import torch\n\n\ndef prefix_sum(x, dtype=torch.float32): ...\n"
    (tiny_pack / "challenges/prefix_sum/stub.py").write_text(stub)
    (signature,) = signatures(pack_reader.find_challenge(tiny_pack, "prefix-sum"))
    assert repr(signature.parameters[1].default) == "torch.float32"
