"""The file of tests that a learner writes for a challenge: hand it out, find it, and grade it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from attn_drill.app.answer import LearnerAnswer
from attn_drill.app.grade_file import ask_server
from attn_drill.app.open_packs import KnownPacks
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.model.tests_report import TestsReport
from attn_drill.packs.pack_reader import signatures
from attn_drill.practice.learner_files import read_source, write_new
from attn_drill.server.messages import GradeTests, TestsGraded

_PREFIX = "test_"
_HEAD = '''\
"""Tests for {id}: {title}.

`attn-drill check {id} {file}` runs them on right answers,
which must pass, and on answers with one mistake, which must fail. Right
answers may round to float32 inside, so compare their values to 1e-5.
`python -m pytest {file}` runs them on your own {module}.py.
"""

import pytest
import torch

import {module} as answer

'''
_FIXTURE = '''
@pytest.fixture
def {name}():
    """{shown}"""
    return answer.{name}

'''
_TAIL = """
# Write your tests here. A test takes a fixture by its name:
#
#     def test_something({name}):
#         assert ...
"""


def hand_out_tests(challenge: Challenge, folder: Path) -> tuple[Path, bool]:
    """Write the file for the tests of a challenge, unless it is there.

    Return its path, and whether the file was there.
    """
    path = folder / f"{_PREFIX}{challenge.file_name}"
    if path.exists():
        return path, True
    names = {"id": challenge.id, "title": challenge.title, "file": path.name}
    module = challenge.folder.name
    parts = [_HEAD.format(module=module, **names)]
    for name in challenge.entry:
        calls = [
            textwrap.fill(each.in_python().replace(".__init__", ""), 90, subsequent_indent="    ")
            for each in signatures(challenge)
            if each.name.split(".")[0] == name
        ]
        shown = "\n    ".join([*calls, ""]) if calls[1:] else calls[0]
        parts.append(_FIXTURE.format(name=name, module=module, shown=shown))
    parts.append(_TAIL.format(name=challenge.entry[0]))
    write_new(path, "".join(parts))
    return path, False


def find_tests(
    challenge_id: str | None, file: Path | None, packs: KnownPacks
) -> LearnerAnswer | None:
    """Return the file of tests that the arguments ID and FILE of a command name; None if none.

    The name of the file in place of ID is enough. A file of tests begins with `test_` and imports
    the module of its challenge.
    """
    path = file or Path(challenge_id or "")
    if not path.name.startswith(_PREFIX) or path.suffix != ".py":
        return None
    name = challenge_id if file is not None else None
    try:
        challenge = packs.find(name or path.stem.removeprefix(_PREFIX))
    except DrillError:
        return None
    source = read_source(path, if_empty=f"`attn-drill start {challenge.id} --tests` begins one.")
    module = challenge.folder.name
    if re.search(rf"^(import|from) {module}\b", source, re.MULTILINE):
        return LearnerAnswer(challenge, path, source)
    defines = "|".join(challenge.entry)
    if re.search(r"^ *def test_", source, re.MULTILINE) and not re.search(
        rf"^(class|def) ({defines})\b", source, re.MULTILINE
    ):
        raise DrillError(
            f"{path} has tests, but does not import {module}. Tests of {challenge.id} begin with "
            f"`import {module} as answer`, as `attn-drill start {challenge.id} --tests` writes it."
        )
    return None


def grade_tests(packs: KnownPacks, tests: LearnerAnswer, seed: int) -> TestsReport:
    """Return the report about a file of tests."""
    request = GradeTests(tests.challenge.id, tests.submission, seed)
    return ask_server(packs, request, TestsGraded).report
