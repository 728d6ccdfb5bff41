"""Tests of the export and import of the journal. Nothing gets lost, duplicated or half imported."""

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attn_drill.model.errors import DrillError
from attn_drill.practice.facts import Hinted
from attn_drill.practice.journal import Journal, export, read_export
from tests.support.journal import FACTS, ROOT, filled_journal, query


def test_import_into_an_empty_journal_keeps_everything(home: Path, tmp_path: Path) -> None:
    """A second import adds nothing, and neither does the import of the own export."""
    with (
        contextlib.closing(filled_journal(home)) as journal,
        contextlib.closing(Journal(tmp_path / "other")) as other,
    ):
        assert export(journal, tmp_path / "copy") == len(FACTS)
        rows = read_export(tmp_path / "copy")
        assert other.add_rows(rows) == len(FACTS)
        assert other.facts() == journal.facts() != []
        assert other.add_rows(rows) == journal.add_rows(rows) == 0
        assert other.facts() == journal.facts()


def test_order_of_two_imports_does_not_matter(tmp_path: Path) -> None:
    """Two exports with common facts give the same facts in either order, each once."""
    for name in "ab":
        with contextlib.closing(filled_journal(tmp_path / name)) as journal:
            journal.add(Hinted("gqa", 100.0, name, level=1))
            export(journal, tmp_path / f"copy {name}")
    results = []
    for order in itertools.permutations("ab"):
        with contextlib.closing(Journal(tmp_path / f"first {order[0]}")) as journal:
            for name in (*order, *order):
                journal.add_rows(read_export(tmp_path / f"copy {name}"))
            results.append({fact.id: fact for fact in journal.facts()})
    assert results[0] == results[1]
    assert len(results[0]) == len(FACTS) + 2


def test_facts_of_a_later_version_are_carried_along(home: Path, tmp_path: Path) -> None:
    """This version cannot read them, but an import and an export lose nothing."""
    new = ("new", 1.0, "daydreamed", "gqa", '{"kind": "daydreamed", "clouds": 3}')
    with contextlib.closing(filled_journal(home)) as journal:
        assert journal.add_rows([new]) == 1
        assert len(journal.facts()) == len(FACTS)
        assert export(journal, tmp_path / "copy") == len(FACTS) + 1
    assert new in read_export(tmp_path / "copy")


LINES = (ROOT / "tests" / "practice" / "journal_4.jsonl").read_bytes()
REFUSED = {
    "empty": (b"", "is not an exported journal"),
    "text": (b"Dear journal,\n", "is not an exported journal"),
    "JSON": (b'{"version": 2}\n', "is not an exported journal"),
    "another database": (b"", "is damaged"),
    "a header and zeros": (b"SQLite format 3\0" + bytes(5000), "is damaged"),
    "cut off": (LINES[:-20], "is damaged"),
    "an unknown table": (LINES.replace(b'"hints"', b'"grades"'), "is damaged"),
    "a list": (LINES + b"[1]\n", "is damaged"),
    "no challenge id but a number": (LINES.replace(b'"id": "', b'"id": 1, "x": "'), "is damaged"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_other_files_are_refused(data: bytes, words: str, tmp_path: Path) -> None:
    """The message names the file, the problem and the next step."""
    path = tmp_path / "it"
    if words == "is damaged" and not data:
        query(path, "CREATE TABLE mine (x)")
        query(path, "PRAGMA user_version = 7")
    else:
        path.write_bytes(data)
    with pytest.raises(DrillError, match=r"Nothing was imported\..*xport") as caught:
        read_export(path)
    assert str(caught.value).startswith(f"{path} {words}")


@pytest.mark.parametrize("place", ["absent", "."])
def test_missing_file_and_folder_are_refused(tmp_path: Path, place: str) -> None:
    """The message names the path."""
    with pytest.raises(DrillError, match=r"cannot be read: .*Check its name"):
        read_export(tmp_path / place)


def test_existing_file_is_replaced_only_with_overwrite(home: Path, tmp_path: Path) -> None:
    """The folder has no other files afterwards. With `overwrite`, a link stays a link."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "a").write_bytes(b"mine")
    (folder / "link").symlink_to("a")
    with contextlib.closing(filled_journal(home)) as journal:
        for name in ("a", "link"):
            with pytest.raises(DrillError, match=r"already exists.*--force"):
                export(journal, folder / name)
        assert (folder / "a").read_bytes() == b"mine"
        export(journal, folder / "link", overwrite=True)
        with pytest.raises(DrillError, match="is the journal itself"):
            export(journal, journal.path, overwrite=True)
        assert len(journal.facts()) == len(FACTS)
    assert len(read_export(folder / "a")) == len(FACTS)
    assert (folder / "link").is_symlink()
    assert sorted(path.name for path in folder.iterdir()) == ["a", "link"]


PLACES: dict[str, Callable[[Path], Path]] = {
    "a folder": lambda folder: folder,
    "no such folder": lambda folder: folder / "absent" / "a",
    "under a file": lambda folder: folder / "file" / "a",
    # A pipe instead of a real device, because a bug would replace the device.
    "a pipe": lambda folder: folder / "pipe",
    "a name too long": lambda folder: folder / ("x" * 300),
}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_export_that_fails_changes_nothing(
    home: Path, tmp_path: Path, place: Callable[[Path], Path], overwrite: bool
) -> None:
    """All files of the folder are unchanged after the error."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "file").write_text("mine")
    os.mkfifo(folder / "pipe")
    before = sorted(folder.rglob("*"))
    with contextlib.closing(filled_journal(home)) as journal, pytest.raises(DrillError):
        export(journal, place(folder), overwrite=overwrite)
    assert sorted(folder.rglob("*")) == before
    assert (folder / "pipe").is_fifo()


def test_home_without_a_journal_has_nothing_to_export(home: Path, tmp_path: Path) -> None:
    """No file is written, and no journal is created."""
    with pytest.raises(DrillError, match=r"Nothing was exported\. There is no journal"):
        export(Journal(home), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert not home.exists()


def test_full_disk_leaves_the_old_file_unchanged(home: Path, tmp_path: Path) -> None:
    """No part of the new file is left."""
    with contextlib.closing(filled_journal(home)) as journal:
        journal.add_rows([(str(n), 1.0, "x", "", "x" * 2000) for n in range(20)])
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "a").write_bytes(b"old")
    script = """
import resource, sys
from pathlib import Path
from attn_drill.model.errors import DrillError
from attn_drill.practice.journal import export
from attn_drill.practice.journal import Journal
journal = Journal(Path(sys.argv[1]))
assert journal.facts()
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
for name in "ab":
    try:
        export(journal, Path(sys.argv[2]) / name, overwrite=True)
    except DrillError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(home), str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("Nothing was exported") == 2, done
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("a", b"old")]
