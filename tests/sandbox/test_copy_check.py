"""The search for copies of references that a worker can read, with real workers."""

import shutil
from pathlib import Path

import pytest

from tests.support.copies import HIDDEN_PARTS, REFERENCE, found_by_a_worker, metadata, planted
from tests.support.sandbox import needs_bubblewrap, needs_kernel
from trainer.sandbox import copy_check, readable_files
from trainer.worker.forkserver_client import ForkServer
from trainer.worker.selftest import copies_readable_by

pytestmark = pytest.mark.usefixtures("search_for_copies")


@pytest.mark.usefixtures("search_only_site")
@pytest.mark.parametrize(
    "how",
    [
        pytest.param("kernel", marks=needs_kernel),
        pytest.param("bubblewrap", marks=needs_bubblewrap),
    ],
)
def test_a_copy_is_found_if_it_is_not_hidden(
    site: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A worker cannot read a hidden copy. With the hiding switched off, the search finds it."""
    planted(site / "trainer" / "_pack")
    assert found_by_a_worker(how).none_readable
    monkeypatch.setattr(readable_files, "_copies_in", lambda *given: iter(()))
    found = found_by_a_worker(how).found
    assert {Path(path).name for path in found} >= {"solution.py"}
    assert all("/trainer/_pack/" in path for path in found)


@needs_kernel
def test_the_search_does_not_trust_the_list_of_readable_paths(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy in an unlistable folder is found, even if the list of readable paths omits it."""
    metadata(site)  # so the folder is split, and a worker cannot list it
    shutil.copy(REFERENCE, site / "notes.txt")
    monkeypatch.setattr(copy_check, "_near", lambda: [str(site)])
    monkeypatch.setattr(copy_check, "_everywhere", lambda hidden: [])
    readable_paths = readable_files.readable_paths
    fork_server = ForkServer(HIDDEN_PARTS, "kernel")
    try:
        copies_readable_by(fork_server, HIDDEN_PARTS)  # now the fork server has its list
        monkeypatch.setattr(
            readable_files,
            "readable_paths",
            lambda hidden: [
                path for path in readable_paths(hidden) if not path.startswith(str(site))
            ],
        )
        assert copies_readable_by(fork_server, HIDDEN_PARTS).found == (str(site / "notes.txt"),)
    finally:
        fork_server.close()
