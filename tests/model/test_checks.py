"""The status of a check over several cases."""

import pytest

from attn_drill.model.checks import CHECK_ORDER, Status, status_of_each


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param(("passed", "passed"), "passed", id="all passed"),
        pytest.param(("passed", "skipped"), "skipped", id="one skipped"),
        pytest.param(("failed", "skipped", "passed"), "failed", id="one failed"),
    ],
)
def test_worst_status_counts(statuses: tuple[Status, ...], expected: Status) -> None:
    """One failed outcome fails the check; a check passes only if all its outcomes passed."""
    assert status_of_each(("values", status) for status in statuses) == {"values": expected}


def test_statuses_are_in_the_order_of_the_checks() -> None:
    """The order of the outcomes does not matter, and checks without outcomes are absent."""
    outcomes: list[tuple[str, Status]] = [(name, "passed") for name in reversed(CHECK_ORDER)]
    assert tuple(status_of_each(outcomes)) == CHECK_ORDER
    assert tuple(status_of_each(outcomes[2:5])) == CHECK_ORDER[-5:-2]
