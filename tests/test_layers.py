"""Imports run downwards only, few packages import torch, and no code names a challenge.

The contracts for imports are in pyproject.toml, under `[tool.importlinter]`.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from attn_drill.model.checks import CHECK_ORDER
from attn_drill.packs import pack_reader
from tests.support.paths import PACKAGE, ROOT, SOURCE, TESTS

TYPE_CHECKING = "from typing import TYPE_CHECKING\nif TYPE_CHECKING"
# The names of the contracts.
LAYERS = "Imports run downwards only"
CYCLES = "Modules of a package do not import each other in a circle"
TORCH = "Only the packages that run or compare code import torch and numpy"
PRIVATE = "Only its own folder imports a module whose name begins with an underscore"
MODEL = "model imports itself and these modules of the standard library only"


def lint_imports(folder: Path) -> tuple[int, str]:
    """Return the exit code and the output of import-linter for the package in a folder."""
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    source = SOURCE if folder == ROOT else folder
    path = os.pathsep.join([str(source), str(ROOT)])  # ROOT has the type of the contract PRIVATE
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_imports_keep_the_contracts() -> None:
    """import-linter checks all five contracts, and each of them holds."""
    code, output = lint_imports(ROOT)
    assert code == 0, output
    assert re.findall(r"^(.+) KEPT", output, re.MULTILINE) == [
        *(LAYERS, CYCLES, TORCH, MODEL, PRIVATE),
    ]


def test_every_folder_is_a_package() -> None:
    """import-linter would not see the files of a folder that is not a package."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with copies of the package and the contracts."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(PACKAGE, folder / "attn_drill", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.thorough
@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("file", "added", "contracts"),
    [
        ("model/report.py", "import attn_drill.packs.pack_reader", {LAYERS}),
        ("packs/pack_reader.py", "from attn_drill.grading import case_set", {LAYERS}),
        ("worker/protocol.py", "from attn_drill.grading import judge", {LAYERS}),
        ("sandbox/confine.py", "from attn_drill.worker import protocol", {LAYERS}),
        ("grading/case_set.py", "from ..practice import files", {LAYERS}),
        ("practice/learner_files.py", "from attn_drill.report import wording", {LAYERS}),
        ("classroom/records.py", "def f(): import attn_drill.cli._check", {LAYERS, PRIVATE}),
        ("report/wording.py", "from attn_drill.session import practice_screen", {LAYERS}),
        ("report/wording.py", "from attn_drill.pytest_plugin import plugin", {LAYERS}),
        ("attic/__init__.py", "", {LAYERS}),
        ("app/hunts.py", "def f(): from attn_drill.diagnosis import _value_graph", {PRIVATE}),
        ("model/checks.py", "from attn_drill.model import report", {CYCLES}),
        ("grading/_reference.py", "def f(): from attn_drill.grading import case_set", {CYCLES}),
        ("report/wording.py", "import torch.nn.functional", {TORCH}),
        ("cli/_check.py", "def f(): from torch import Tensor", {TORCH}),
        ("practice/learner_files.py", f"{TYPE_CHECKING}: import numpy", {TORCH}),
        ("packs/pack_reader.py", "import numpy as np", {TORCH}),
        ("__init__.py", "import torch", {TORCH}),
        ("__main__.py", "import torch", {TORCH}),
        ("model/case.py", "import torch", {TORCH, MODEL}),
        ("model/case.py", "import typer", {MODEL}),
        ("model/report.py", "import subprocess", {MODEL}),
        ("model/__init__.py", "import msgspec", {MODEL}),
        ("model/report.py", "from attn_drill import __version__", {MODEL}),
    ],
)
def test_bad_import_breaks_its_contract(
    copied_tree: Path, file: str, added: str, contracts: set[str]
) -> None:
    """The contract that forbids the import fails, and the other contracts hold."""
    path = copied_tree / "attn_drill" / file
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\n{added}\n")
    try:
        code, output = lint_imports(copied_tree)
    finally:
        if before is None:
            shutil.rmtree(path.parent)
        else:
            path.write_text(before)
    assert code == 1, output
    assert set(re.findall(r"^(.+) BROKEN", output, re.MULTILINE)) == contracts, output


def words_in_code(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each name, attribute and string of a file. Strings are in quotes."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, repr(node.value)


def forbidden_words() -> set[str]:
    """Return the ids and entry points of the built-in pack, with and without quotes.

    `masks` is allowed, because it is also the name of a check. Names of torch's own functions and
    classes are allowed, because the engine uses and refuses them: `softmax`, `layer_norm`.
    `generate` is an ordinary word.
    """
    challenges = pack_reader.read_pack(pack_reader.built_in_pack())
    names = {challenge.id for challenge in challenges}
    for challenge in challenges:
        names.update(challenge.entry)
    names -= set(CHECK_ORDER)
    names -= {*vars(torch), *vars(functional), *vars(nn), "generate"}
    return names | {repr(name) for name in names}


@pytest.mark.thorough
def test_code_names_no_challenge() -> None:
    """No name and no whole string in the package is an id or an entry point of a challenge."""
    forbidden = forbidden_words()
    found = [
        f"{path.relative_to(ROOT)}, line {line}: {word}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, word in words_in_code(path)
        if word in forbidden
    ]
    assert found == []


@pytest.mark.parametrize("code", ["gqa = 1", "engine.gqa()", "found == 'gqa-kv-cache'"])
def test_challenge_in_the_code_is_found(tmp_path: Path, code: str) -> None:
    """A name, an attribute and a string count."""
    path = tmp_path / "engine.py"
    path.write_text(code)
    assert forbidden_words() & {word for _, word in words_in_code(path)}


@pytest.mark.parametrize("package", sorted(path.name for path in PACKAGE.glob("*/")))
def test_every_package_has_tests(package: str) -> None:
    """The tests of a package stand in the folder of its name, in files of any names."""
    if (PACKAGE / package / "__init__.py").exists():
        assert list((TESTS / package).glob("test_*.py"))


# markupsafe comes with jinja2, and markdown_it with rich. Code for pytest, notebooks and clusters
# runs only where its package is installed.
NOT_DECLARED = {"markupsafe", "markdown_it", "pytest", "_pytest", "IPython"}


@pytest.mark.thorough
def test_every_imported_package_is_declared() -> None:
    """An installation without the development tools has every package that the code imports."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["cluster"], *extras["similar"]]
    names = {re.split(r"[<>=~! \[]", line)[0] for line in declared}
    known = names | NOT_DECLARED | set(sys.stdlib_module_names) | {"attn_drill"}
    unknown = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module or ""]
            else:
                continue
            undeclared = [name for name in modules if name.split(".")[0] not in known]
            unknown |= {f"{path.name}: {name}" for name in undeclared}
    assert not unknown
