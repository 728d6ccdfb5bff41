"""Imports run downwards only, torch stays on its floors, the engine knows no challenge by name."""

import ast
import re
import sys
from pathlib import Path

import pytest

from trainer.content import packs
from trainer.core.words import CHECK_ORDER

TRAINER = Path(__file__).resolve().parents[1] / "trainer"
FLOORS = {
    "core": 0,
    "casekit": 1,
    "content": 1,
    "running": 2,
    "comparing": 2,
    "grading": 3,
    "practice": 4,
    "classroom": 4,
    "display": 5,
    "cli": 6,
    "session": 6,
    "notebook": 6,
    "pytest_drill": 6,
}
TORCH = {"casekit", "running", "comparing", "grading"}
FILES = sorted(TRAINER.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """The modules that a file names in its import statements, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(TRAINER)) for path in FILES])
def test_imports_run_downwards(path: Path) -> None:
    """No file imports from a floor above its own."""
    part = path.relative_to(TRAINER).parts[0]
    if part not in FLOORS:
        return  # __init__ and __main__ are the door to the command line
    for name in imports(path):
        match = re.match(r"trainer\.(\w+)", name)
        if match and match[1] in FLOORS:
            assert FLOORS[match[1]] <= FLOORS[part], f"{path} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(TRAINER)) for path in FILES])
def test_torch_stays_on_its_floors(path: Path) -> None:
    """Only floors 2 and 3 import torch."""
    part = path.relative_to(TRAINER).parts[0]
    if part not in TORCH:
        assert not any(name.split(".")[0] in ("torch", "numpy") for name in imports(path))


def test_the_words_need_nothing() -> None:
    """Floor 0 imports the standard library and itself only."""
    for path in (TRAINER / "core").glob("*.py"):
        assert all(
            name.startswith("trainer.core.") or name.split(".")[0] in sys.stdlib_module_names
            for name in imports(path)
        )


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(TRAINER)) for path in FILES])
def test_the_engine_names_no_challenge(path: Path) -> None:
    """No challenge's id or entry stands in the engine's code; in help texts and docstrings it may."""
    challenges = packs.read_pack(packs.built_in_pack())
    names = {one.id for one in challenges} | {entry for one in challenges for entry in one.entry}
    names -= set(CHECK_ORDER)  # a check and a challenge are called `masks`
    tree = ast.parse(path.read_text())
    allowed_strings = {
        "scaled_dot_product_attention"
    }  # torch's own function, which is refused by this name
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value not in names - allowed_strings, (
                f"{path}, line {node.lineno}: {node.value!r}"
            )
        if isinstance(node, ast.Name | ast.Attribute):
            word = node.id if isinstance(node, ast.Name) else node.attr
            assert word not in names, f"{path}, line {node.lineno}: {word}"
