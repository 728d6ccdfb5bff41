"""Only `torch_private` uses private parts of torch, and it can do without them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
import torch

from attn_drill.packs import pack_reader
from attn_drill.worker import torch_private

# torch's documentation tells to import the dispatch mode from here.
DOCUMENTED = "torch.utils._python_dispatch"
SOURCES = [
    path for path in sorted(pack_reader.PACKAGE.rglob("*.py")) if path.name != "torch_private.py"
]


def private_names(source: str) -> Iterator[str]:
    """Yield the private names of torch that a module uses: attributes and imports."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            found = [dotted(node)]
        else:
            continue
        for name in found:
            package, *parts = name.split(".")
            is_private = any(part.startswith("_") and not part.endswith("__") for part in parts)
            if package == "torch" and is_private and not name.startswith(DOCUMENTED):
                yield name


def dotted(node: ast.expr) -> str:
    """Return an attribute as text, for example `torch.nn.functional`; "" for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def test_no_other_module_uses_private_parts_of_torch() -> None:
    """Private parts change from one version of torch to the next."""
    assert len(SOURCES) > 100
    used = {
        f"{path.relative_to(pack_reader.PACKAGE)}: {name}"
        for path in SOURCES
        for name in private_names(path.read_text(encoding="utf-8"))
    }
    assert not used


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch\ntorch._C._get_mkldnn_enabled()", ["torch._C._get_mkldnn_enabled"]),
        ("from torch._dynamo import config", ["torch._dynamo.config"]),
        ("import torch._inductor", ["torch._inductor"]),
        ("from torch import _C", ["torch._C"]),
        ("from torch.utils._python_dispatch import TorchDispatchMode", []),
        ("import torch\ntorch.nn.functional.linear.__name__", []),
        ("import torch\nself._torch.mode", []),
    ],
)
def test_the_search_finds_private_names(source: str, found: list[str]) -> None:
    """Attributes and imports are found; the documented exception and other names are not."""
    assert found in ([], found)
    assert set(found) <= set(private_names(source))
    assert bool(found) == bool([*private_names(source)])


def test_storages_are_told_apart_without_private_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the private number, the address of the memory serves."""

    class Bare:
        """A storage with public methods only."""

        def __init__(self, storage: torch.UntypedStorage) -> None:
            self.data_ptr = storage.data_ptr

    public = torch.Tensor.untyped_storage
    x, y = torch.ones(3), torch.ones(3)
    assert torch_private.storage_id(x) == torch_private.storage_id(x.view(1, 3)[0])
    assert torch_private.storage_id(x) != torch_private.storage_id(y)
    monkeypatch.setattr(torch.Tensor, "untyped_storage", lambda tensor: Bare(public(tensor)))
    assert torch_private.storage_id(x) == torch_private.storage_id(x.view(1, 3)[0])
    assert torch_private.storage_id(x) != torch_private.storage_id(y)


def test_storages_on_meta_are_told_apart() -> None:
    """Tensors without values have no address."""
    x, y = torch.ones(3, device="meta"), torch.ones(3, device="meta")
    assert torch_private.storage_id(x) != torch_private.storage_id(y)
    assert torch_private.storage_id(x) == torch_private.storage_id(x[1:])


def test_tensors_inside_a_transform_are_found() -> None:
    """Inside vmap, a tensor has no memory of its own."""
    inside: list[bool] = []

    def look(row: torch.Tensor) -> torch.Tensor:
        inside.append(torch_private.is_inside_transform(row))
        return row

    torch.vmap(look)(torch.ones(2, 3))
    assert inside == [True]
    assert not torch_private.is_inside_transform(torch.ones(2))


@pytest.mark.parametrize("missing", ["is_functorch_wrapped_tensor", "_functorch"])
def test_without_the_private_test_no_tensor_is_inside_a_transform(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Another version of torch may lack the function, or the module around it."""
    where = torch._C if missing == "_functorch" else torch._C._functorch
    monkeypatch.delattr(where, missing)
    assert not torch_private.is_inside_transform(torch.ones(2))


def test_scripts_run_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the switch, `torch.jit.script` returns its function; without the part, all stays."""
    called: list[str] = []
    monkeypatch.setattr(torch.jit._state, "disable", lambda: called.append("off"))
    torch_private.run_scripts_as_python()
    assert called == ["off"]
    monkeypatch.delattr(torch.jit._state, "disable")
    torch_private.run_scripts_as_python()
    monkeypatch.delattr(torch.jit, "_state")
    torch_private.run_scripts_as_python()
    assert called == ["off"]
