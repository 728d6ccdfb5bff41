"""Tests of `attn-drill export`."""

from pathlib import Path

from tests.support.cli import drill
from tests.support.exchange import FACTS, filled_journal


def test_export_is_read_in_another_home(home: Path, tmp_path: Path) -> None:
    """The other home gets all entries once, however often the file is imported."""
    filled_journal(home).close()
    done = drill("export", "my journal.sqlite3", cwd=tmp_path)
    assert done.stdout == (
        f"my journal.sqlite3 is written: {len(FACTS)} entries of the journal. "
        "`attn-drill import 'my journal.sqlite3'` reads it on any machine.\n"
    )
    other = str(tmp_path / "other")
    for new, old in ((len(FACTS), 0), (0, len(FACTS))):
        done = drill("import", "my journal.sqlite3", cwd=tmp_path, ATTN_DRILL_HOME=other)
        assert done.stdout == f"{new} entries were new, {old} were already in the journal.\n"
    assert "--force" in drill("export", "my journal.sqlite3", cwd=tmp_path, code=2).stderr
    assert "needs a name" in drill("export", "-", cwd=tmp_path, code=2).stderr


def test_broken_journal_is_not_exported(home: Path, tmp_path: Path) -> None:
    """It is set aside, and the exit code reports that nothing was exported."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    assert "journal.broken-1.sqlite3" in drill("export", "a", cwd=tmp_path, code=2).stderr
    assert not (tmp_path / "a").exists()
