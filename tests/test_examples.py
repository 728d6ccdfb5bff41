"""The examples in docstrings, which begin with `>>>`."""

import builtins
import doctest
import importlib
import re

import pytest

from tests.support.paths import PACKAGE, SOURCE

MODULES = [
    path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    for path in sorted(PACKAGE.rglob("*.py"))
    if re.search(r"^ +>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_their_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example of the module prints its result."""
    # doctest leaves this name behind. IPython would then keep no result of a cell.
    monkeypatch.setattr(builtins, "_", None, raising=False)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert not result.failed
