"""The journal goes out as JSON lines and comes in again: nothing lost, nothing twice, all or nothing."""

from pathlib import Path

from tests.support.cli import drill
from tests.support.exchange import HEADER


def test_export_and_import_by_command(there: bytes, tmp_path: Path) -> None:
    """To stdout and to a file the same; into another home all rows are new, a second time none."""
    count = there.count(b"\n") - 1
    for arguments in ([], ["-"]):
        assert drill("export", *arguments, cwd=tmp_path).stdout.encode() == there
    done = drill("export", "my journal.jsonl", cwd=tmp_path)
    assert (
        done.stdout
        == f"my journal.jsonl has the journal's {count} rows. `attn-drill import 'my journal.jsonl'` reads it, on any machine.\n"
    )
    assert (tmp_path / "my journal.jsonl").read_bytes() == there
    other = str(tmp_path / "other")
    assert (
        drill("import", "my journal.jsonl", cwd=tmp_path, ATTN_DRILL_HOME=other).stdout
        == f"{count} rows were new, 0 were there already.\n"
    )
    assert (
        drill("import", "my journal.jsonl", cwd=tmp_path, ATTN_DRILL_HOME=other).stdout
        == f"0 rows were new, {count} were there already.\n"
    )
    assert (
        drill(
            "export", cwd=tmp_path, ATTN_DRILL_HOME=other, PYTHONIOENCODING="ascii", LC_ALL="C"
        ).stdout.encode()
        == there
    )


def test_export_leaves_a_file_alone(there: bytes, tmp_path: Path) -> None:
    """Exit code 2 and a sentence; --force replaces it, but never the journal itself."""
    (tmp_path / "a").write_text("mine")
    assert "--force" in drill("export", "a", cwd=tmp_path, code=2).stderr
    assert (tmp_path / "a").read_text() == "mine"
    drill("export", "a", "--force", cwd=tmp_path)
    assert (tmp_path / "a").read_bytes() == there
    assert (
        "the journal itself"
        in drill("export", "home/journal.sqlite3", "--force", cwd=tmp_path, code=2).stderr
    )
    assert drill("export", cwd=tmp_path).stdout.encode() == there


def test_an_empty_journal(tmp_path: Path, home: Path) -> None:
    """It is exported as a header alone, which can be imported; asking makes no journal."""
    assert drill("export", cwd=tmp_path).stdout.encode() == HEADER
    assert not home.exists()
    (tmp_path / "a").write_bytes(HEADER)
    assert drill("import", "a", cwd=tmp_path).stdout == "0 rows were new, 0 were there already.\n"


def test_a_journal_that_cannot_be_used(there: bytes, tmp_path: Path) -> None:
    """It is neither exported as an empty one nor told as imported."""
    (tmp_path / "other" / "journal.sqlite3").mkdir(parents=True)
    (tmp_path / "a").write_bytes(there)
    for command in (["export"], ["export", "b"], ["import", "a"]):
        done = drill(*command, cwd=tmp_path, code=2, ATTN_DRILL_HOME=str(tmp_path / "other"))
        assert "cannot be used" in done.stderr
        assert done.stdout == ""
    assert not (tmp_path / "b").exists()


def test_a_broken_journal_is_not_exported_as_an_empty_one(home: Path, tmp_path: Path) -> None:
    """It is set aside, as ever, and the exit code says that nothing came out."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    assert "journal.broken-1.sqlite3" in drill("export", "a", cwd=tmp_path, code=2).stderr
    assert not (tmp_path / "a").exists()
