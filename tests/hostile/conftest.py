"""A second grader for the hostile files. Its workers have limits and no sandbox."""

from pathlib import Path

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Limits
from attn_drill.packs import pack_reader
from tests.support.paths import TINY_PACK

PACK = Path(__file__).parent / "pack"
_graders: list[Grader] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the grader if a test uses it, before any test has loaded a reference.

    Without a sandbox, only this order prevents that the workers see values of the reference.
    """
    if (
        any("unconfined" in getattr(item, "fixturenames", ()) for item in session.items)
        and not session.config.option.collectonly
    ):
        _graders.append(
            Grader(
                [pack_reader.built_in_pack(), TINY_PACK, PACK],
                Limits(seconds=60.0),
                isolation="limits",
            )
        )


def pytest_sessionfinish() -> None:
    """End the grader."""
    while _graders:
        _graders.pop().close()


@pytest.fixture
def unconfined() -> Grader:
    """Return the grader whose workers have only limits."""
    return _graders[0]
