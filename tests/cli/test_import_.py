"""Tests of `attn-drill import`."""

from pathlib import Path

from tests.support.cli import drill
from tests.support.journal import ROOT

LINES = ROOT / "tests" / "practice" / "journal_4.jsonl"


def test_export_of_an_earlier_version_is_imported(tmp_path: Path) -> None:
    """It has a line for each entry."""
    done = drill("import", str(LINES), cwd=tmp_path)
    assert done.stdout == "30 entries were new, 0 were already in the journal.\n"


def test_damaged_file_adds_no_entry(tmp_path: Path) -> None:
    """One sentence names the file, and no journal is created."""
    (tmp_path / "cut").write_bytes(LINES.read_bytes()[:-20])
    other = tmp_path / "other"
    done = drill("import", "cut", cwd=tmp_path, code=2, ATTN_DRILL_HOME=str(other))
    assert done.stderr.startswith("attn-drill: cut is damaged (")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert not other.exists()


def test_journal_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """Nothing is imported, and the exit code says so."""
    (tmp_path / "other" / "journal.sqlite3").mkdir(parents=True)
    other = str(tmp_path / "other")
    done = drill("import", str(LINES), cwd=tmp_path, code=2, ATTN_DRILL_HOME=other)
    assert "Nothing was imported." in done.stderr
    assert "cannot be used" in done.stderr
