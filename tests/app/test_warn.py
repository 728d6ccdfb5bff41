"""Sentences on stdout, and warnings on stderr."""

from pathlib import Path

import pytest

from attn_drill.app.warn import say, warn, warn_journal
from attn_drill.practice.facts import Started
from attn_drill.practice.journal import Journal


def test_each_sentence_is_a_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed on stdout."""
    warn(["One sentence.", "Another sentence."])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "attn-drill: One sentence.\nattn-drill: Another sentence.\n"


def test_prose_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """Only a terminal gets it wrapped."""
    say("A sentence. " * 20)
    assert capsys.readouterr().out == "A sentence. " * 20 + "\n"


def test_journal_that_works_gives_no_warning(
    journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    """The journal was written before."""
    journal.add(Started("gqa", 1.0, path="gqa.py"))
    warn_journal(journal)
    assert capsys.readouterr().err == ""


def test_journal_that_cannot_be_written_gives_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The home of the journal is inside a file."""
    (tmp_path / "file").write_text("")
    journal = Journal(tmp_path / "file" / "home")
    journal.add(Started("gqa", 1.0, path="gqa.py"))
    warn_journal(journal)
    assert "progress is not kept" in capsys.readouterr().err
