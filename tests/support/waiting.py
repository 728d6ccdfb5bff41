"""Wait for something that another process does."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Return when `condition()` holds. Fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"no result within {seconds:g} s"
        time.sleep(0.005)
