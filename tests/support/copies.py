"""Helpers for tests that put copies of a pack into an installation."""

import shutil
from pathlib import Path

from tests.support.paths import TINY_PACK
from trainer.packs import pack_reader
from trainer.sandbox import copy_check
from trainer.worker.forkserver_client import ForkServer
from trainer.worker.selftest import copies_readable_by

BUILT_IN = pack_reader.built_in_pack()


HIDDEN_PARTS = [
    pack_reader.TRAINER,
    *(root / part for root in (TINY_PACK, BUILT_IN) for part in ("challenges", "solutions")),
]


REFERENCE = TINY_PACK / "solutions" / "prefix_sum" / "solution.py"


def planted(folder: Path) -> Path:
    """Copy the tiny pack into a folder; return the folder."""
    for part in ("challenges", "solutions"):
        shutil.copytree(
            TINY_PACK / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder


def metadata(site: Path) -> Path:
    """Install metadata that lists the names of attn-drill's files; return its path."""
    (site / "attn_drill-9.dist-info").mkdir()
    (site / "attn_drill-9.dist-info" / "RECORD").write_text(
        "trainer/_pack/solutions/gqa/solution.py,,\n"
    )
    return site / "attn_drill-9.dist-info" / "RECORD"


def found_by_a_worker(how: str = "kernel") -> copy_check.Copies:
    """Search for copies with a worker of a fork server that hides the same paths as a grader."""
    fork_server = ForkServer(HIDDEN_PARTS, how)  # type: ignore[arg-type]
    try:
        return copies_readable_by(fork_server, HIDDEN_PARTS)
    finally:
        fork_server.close()
