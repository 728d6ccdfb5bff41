"""Tests of `attn-drill export`."""

from pathlib import Path

import pytest

from tests.support.cli import drill
from tests.support.exchange import HEADER


def test_export_to_stdout_and_to_a_file_are_equal(full_export: bytes, tmp_path: Path) -> None:
    """Another home gets all rows once, however often the file is imported."""
    count = full_export.count(b"\n") - 1
    for arguments in ([], ["-"]):
        assert drill("export", *arguments, cwd=tmp_path).stdout.encode() == full_export
    done = drill("export", "my journal.jsonl", cwd=tmp_path)
    assert done.stdout == (
        f"my journal.jsonl is written: {count} rows of the journal. "
        "`attn-drill import 'my journal.jsonl'` reads it on any machine.\n"
    )
    assert (tmp_path / "my journal.jsonl").read_bytes() == full_export
    other = str(tmp_path / "other")
    assert (
        drill("import", "my journal.jsonl", cwd=tmp_path, ATTN_DRILL_HOME=other).stdout
        == f"{count} rows were new, 0 were already in the journal.\n"
    )
    assert (
        drill("import", "my journal.jsonl", cwd=tmp_path, ATTN_DRILL_HOME=other).stdout
        == f"0 rows were new, {count} were already in the journal.\n"
    )
    assert (
        drill(
            "export", cwd=tmp_path, ATTN_DRILL_HOME=other, PYTHONIOENCODING="ascii", LC_ALL="C"
        ).stdout.encode()
        == full_export
    )


@pytest.mark.thorough
def test_export_replaces_a_file_only_with_force(
    full_export: bytes, tmp_path: Path, home: Path
) -> None:
    """The journal itself is never replaced."""
    (tmp_path / "a").write_text("mine")
    assert "--force" in drill("export", "a", cwd=tmp_path, code=2).stderr
    assert (tmp_path / "a").read_text() == "mine"
    drill("export", "a", "--force", cwd=tmp_path)
    assert (tmp_path / "a").read_bytes() == full_export
    assert (
        "the journal itself"
        in drill("export", str(home / "journal.sqlite3"), "--force", cwd=tmp_path, code=2).stderr
    )
    assert drill("export", cwd=tmp_path).stdout.encode() == full_export


def test_empty_journal_is_exported_as_a_header(tmp_path: Path, home: Path) -> None:
    """The header can be imported. The export creates no journal."""
    assert drill("export", cwd=tmp_path).stdout.encode() == HEADER
    assert not home.exists()
    (tmp_path / "a").write_bytes(HEADER)
    assert (
        drill("import", "a", cwd=tmp_path).stdout
        == "0 rows were new, 0 were already in the journal.\n"
    )


@pytest.mark.thorough
def test_journal_that_cannot_be_used_is_not_exported(full_export: bytes, tmp_path: Path) -> None:
    """No rows are imported into it either."""
    (tmp_path / "other" / "journal.sqlite3").mkdir(parents=True)
    (tmp_path / "a").write_bytes(full_export)
    for command in (["export"], ["export", "b"], ["import", "a"]):
        done = drill(*command, cwd=tmp_path, code=2, ATTN_DRILL_HOME=str(tmp_path / "other"))
        assert "cannot be used" in done.stderr
        assert done.stdout == ""
    assert not (tmp_path / "b").exists()


def test_broken_journal_is_not_exported(home: Path, tmp_path: Path) -> None:
    """It is set aside, and the exit code reports that nothing was exported."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    assert "journal.broken-1.sqlite3" in drill("export", "a", cwd=tmp_path, code=2).stderr
    assert not (tmp_path / "a").exists()
