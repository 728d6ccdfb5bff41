"""Fixtures of the tests in `tests/session`."""

from pathlib import Path

import pytest

from attn_drill.model.challenge import CallCost
from attn_drill.model.report import Lesson, Note
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.journal import Journal
from attn_drill.session._practice_model import AfterPass, after_pass
from tests.support.session import GQA, RIGHT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a stub that was handed out."""
    path = tmp_path / "gqa.py"
    path.write_text(pack_reader.stub(GQA))
    return path


@pytest.fixture
def journal(home: Path) -> Journal:
    """Return an empty journal."""
    return Journal(home)


@pytest.fixture
def state() -> AfterPass:
    """Return the state after a pass, with a lesson."""
    after = after_pass(GQA, RIGHT, "7 of 18 passed · next: mla", "en")
    note = Note(1, "This line copies repeated entries.", "It costs memory.")
    after.lesson = Lesson("a call", CallCost(14, 10**9, 1 << 20), (note,), other_answers(GQA))
    return after
