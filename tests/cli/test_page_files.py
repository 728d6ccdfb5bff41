"""Tests of the files of pages."""

from pathlib import Path

import pytest

from attn_drill.cli._command_line import check_page_name, write_page
from attn_drill.model.errors import DrillError


@pytest.mark.parametrize("name", ["a.html", "a.HTM", "b.c.html"])
def test_page_is_written(tmp_path: Path, name: str) -> None:
    """The page replaces an older page."""
    path = tmp_path / name
    check_page_name(path)
    write_page(path, "old")
    write_page(path, "é")
    assert path.read_text(encoding="utf-8") == "é"


@pytest.mark.parametrize("name", ["gqa.py", "report", "a.html.bak"])
def test_other_name_is_refused(name: str) -> None:
    """No other file is overwritten, and the sentence names a page."""
    with pytest.raises(DrillError, match=r"must end in \.html.*Name it .*\.html"):
        check_page_name(Path(name))


def test_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """The sentence names the file."""
    with pytest.raises(DrillError, match="cannot be written: Is a directory"):
        write_page(tmp_path, "x")
