"""Every test has a home of its own; the grader and its zygote are shared by the tests of one process."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["OMP_NUM_THREADS"] = "1"

from trainer.content import packs
from trainer.grading.grader import Grader
from trainer.running.zygote import Limits

TINY_PACK = Path(__file__).parent / "packs" / "tiny"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The journal's folder of this test; no variable of the developer's own is seen."""
    folder = tmp_path / "home"
    for name in ("ATTN_DRILL_LANG", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ATTN_DRILL_HOME", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def grader() -> Iterator[Grader]:
    """One zygote for all tests, started before any test loads a reference. It is patient: a busy machine is no reason to fail."""
    with Grader([packs.built_in_pack(), TINY_PACK], Limits(seconds=60.0)) as made:
        yield made
