"""The commands `journal export` and `journal import`."""

from pathlib import Path

from tests.support.cli import drill
from tests.support.journal import FACTS, ROOT, filled_journal

LINES = ROOT / "tests" / "practice" / "journal_4.jsonl"


def test_export_is_read_in_another_home(home: Path, tmp_path: Path) -> None:
    """The other home gets all entries once, however often the file is imported."""
    filled_journal(home).close()
    done = drill("journal", "export", "my journal.sqlite3", cwd=tmp_path)
    assert done.stdout == (
        f"my journal.sqlite3 is written: {len(FACTS)} entries of the journal. "
        "`attn-drill journal import 'my journal.sqlite3'` reads it on any machine.\n"
    )
    other = str(tmp_path / "other")
    for new, old in ((len(FACTS), 0), (0, len(FACTS))):
        done = drill("journal", "import", "my journal.sqlite3", cwd=tmp_path, ATTN_DRILL_HOME=other)
        assert done.stdout == f"{new} entries were new, {old} were already in the journal.\n"
    assert (
        "--force" in drill("journal", "export", "my journal.sqlite3", cwd=tmp_path, code=2).stderr
    )


def test_broken_journal_is_not_exported(home: Path, tmp_path: Path) -> None:
    """It is set aside, and the exit code reports that nothing was exported."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    assert (
        "journal.broken-1.sqlite3" in drill("journal", "export", "a", cwd=tmp_path, code=2).stderr
    )
    assert not (tmp_path / "a").exists()


def test_export_of_an_earlier_version_is_imported(tmp_path: Path) -> None:
    """It has a line for each entry."""
    done = drill("journal", "import", str(LINES), cwd=tmp_path)
    assert done.stdout == "30 entries were new, 0 were already in the journal.\n"


def test_damaged_file_adds_no_entry(tmp_path: Path) -> None:
    """One sentence names the file, and no journal is created."""
    (tmp_path / "cut").write_bytes(LINES.read_bytes()[:-20])
    other = tmp_path / "other"
    done = drill("journal", "import", "cut", cwd=tmp_path, code=2, ATTN_DRILL_HOME=str(other))
    assert done.stderr.startswith("attn-drill: cut is damaged (")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert not other.exists()


def test_journal_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """Nothing is imported, and the exit code says so."""
    (tmp_path / "other" / "journal.sqlite3").mkdir(parents=True)
    other = str(tmp_path / "other")
    done = drill("journal", "import", str(LINES), cwd=tmp_path, code=2, ATTN_DRILL_HOME=other)
    assert "Nothing was imported." in done.stderr
    assert "cannot be used" in done.stderr
