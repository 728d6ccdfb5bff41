"""Fixtures of the tests in `tests/packs`."""

from pathlib import Path

import pytest

from attn_drill.packs.scaffold import scaffold


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder on sys.path, for installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture(scope="module")
def new_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a pack that `pack new` wrote. Tests must not change this pack."""
    return scaffold("my-pack", tmp_path_factory.mktemp("made"))
