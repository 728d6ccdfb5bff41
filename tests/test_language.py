"""Words follow the rules of CONTRIBUTING.md as far as a program can tell."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import PACKAGE, ROOT

# Submissions are written in the styles of their authors.
SUBMISSIONS = ("tests/hostile/submissions", "tests/honest", "tests/by_hand", "also_right")
RIDDLE = re.compile(r"(What|Where|Who|Whom|Whose|Whether)\b")


def python_files() -> list[Path]:
    """Return the files that the rules are for."""
    folders = [ROOT / name for name in ("trainer", "tests", "challenges", "solutions")]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return [path for path in files if not any(part in str(path) for part in SUBMISSIONS)]


def riddles(source: str) -> Iterator[str]:
    """Yield each docstring that begins with a question word, and each variable named `one`."""
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented):
            text = ast.get_docstring(node) or ""
            if RIDDLE.match(text):
                yield text.splitlines()[0]
        elif isinstance(node, ast.arg) and node.arg == "one":
            yield f"the parameter `one` in line {node.lineno}"
        elif isinstance(node, ast.Name) and node.id == "one" and isinstance(node.ctx, ast.Store):
            yield f"the variable `one` in line {node.lineno}"


@pytest.mark.thorough
def test_words_are_plain() -> None:
    """No docstring begins with a question word, and no variable is named `one`."""
    found = [
        f"{path.relative_to(ROOT)}: {riddle}"
        for path in python_files()
        for riddle in riddles(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        '"""What a worker may read."""',
        'def read():\n    """Where the file is."""',
        "def read(one):\n    pass",
        "for one in []:\n    pass",
    ],
)
def test_a_riddle_is_found(source: str) -> None:
    """Each rule can fail."""
    assert list(riddles(source))


@pytest.mark.thorough
def test_names_have_one_meaning() -> None:
    """No class name and no file name of the package occurs twice."""
    files = [path for path in sorted(PACKAGE.rglob("*.py")) if path.stem[0] != "_"]
    names = [path.name for path in files]
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names += [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert sorted(names) == sorted(set(names))
