"""Tests of the command group `class`."""

import os
from pathlib import Path

import pytest

from tests.support import forked


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["class"], ("grade", "override", "handout", "autograder")),
        (["class", "grade"], ("--challenge", "--roster", "--resume", "--write", "--pack")),
        (["grade"], ("--challenge", "--resume", "--pack")),
        (["autograder"], ("--assignment", "--pack")),
    ],
)
def test_commands_have_their_old_names_too(
    words: list[str], options: tuple[str, ...], tmp_path: Path
) -> None:
    """`grade` and `autograder` were commands of their own."""
    process = forked.run([*words, "--help"], tmp_path, os.environ)
    assert process.returncode == 0
    assert [option for option in options if option not in process.stdout] == []
