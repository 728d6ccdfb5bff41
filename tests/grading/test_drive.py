"""The cut of `drive`: everything that `drive` needs to run, and nothing else of `cases.py`."""

import pytest

from attn_drill.grading.content import drive_source
from attn_drill.model.errors import PackError

CASES = '''"""Cases of a challenge."""
import math
import secrets as unused

HALF, SECRET = 0.5, "secret"
OTHER = "other"


class Scaled:
    """A helper."""

    factor = math.sqrt(4.0) * HALF


def scaled(x):
    """Return x scaled."""
    return x * Scaled.factor  # a comment


def cases(draw):
    yield OTHER


def drive(implementation, given):
    """Call the implementation."""
    return {"out": implementation(scaled(given))}
'''


def test_cut_has_everything_that_drive_needs() -> None:
    """Helpers of helpers are included, so the cut runs without the rest of the file."""
    names: dict[str, object] = {}
    exec(drive_source(CASES, "cases.py"), names)
    drive = names["drive"]
    assert callable(drive)
    assert drive(lambda x: x + 1, 3.0) == {"out": 4.0}


@pytest.mark.parametrize("text", ["cases", "OTHER", "unused", "a comment", "Return x", "A helper"])
def test_cut_has_nothing_else(text: str) -> None:
    """A submission can read the cut in the memory of its worker."""
    assert text not in drive_source(CASES, "cases.py")


def test_last_definition_of_a_helper_is_the_valid_one() -> None:
    """All statements that bind a name are included, in the order of the file."""
    source = "def f(x):\n    return 1\ndef f(x):\n    return 2\ndrive = f\n"
    names: dict[str, object] = {}
    exec(drive_source(source, "cases.py"), names)
    assert names["drive"](None) == 2  # type: ignore[operator]


def test_file_without_drive_is_refused() -> None:
    """A `drive` inside another function does not count."""
    with pytest.raises(PackError, match=r"pack/cases\.py defines no `drive` at its top level"):
        drive_source("def cases():\n    def drive():\n        pass\n", "pack/cases.py")
