"""Write pages to the files that `--html` names."""

from __future__ import annotations

from pathlib import Path

from attn_drill.model.errors import DrillError


def check_page_name(path: Path) -> None:
    """Refuse a page without the name of a page, so that no other file is overwritten."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise DrillError(
            f"--html is {path}; its name must end in .html, so that no other file is overwritten. "
            f"Name it {path.with_suffix('.html')}."
        )


def write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DrillError(
            f"{path} cannot be written: {error.strerror or error}. Name another file with --html."
        ) from None
