"""Bad sizes: every wrong check of a constructor accepts some of them."""

from collections.abc import Callable

import pytest

from attn_drill.casekit import _maker
from attn_drill.model.case import Refusal


def cannot_work(refusal: Refusal) -> bool:
    """Return whether the contract refuses these sizes."""
    size = {name: int(str(value)) for name, value in refusal.arguments.items()}
    wrong = size["d_model"] % size["num_heads"] != 0
    return wrong or size["num_heads"] % size.get("num_kv_heads", 1) != 0


def test_every_row_is_bad_and_different() -> None:
    """The head dim is even, so a table of RoPE does not raise before the check."""
    for rows in (list(_maker.bad_heads()), list(_maker.bad_groups())):
        assert all(cannot_work(refusal) for refusal in rows)
        assert len({str(refusal.arguments) for refusal in rows}) == len(rows)
        for refusal in rows:
            assert (refusal.arguments["d_model"] // refusal.arguments["num_heads"]) % 2 == 0  # type: ignore[operator]


@pytest.mark.parametrize(
    "refuses",
    [
        pytest.param(lambda m, h, g: m % g or h % g, id="d_model % num_kv_heads"),
        pytest.param(lambda m, h, g: m % h or m % g, id="d_model % num_kv_heads for the groups"),
        pytest.param(lambda m, h, g: m % h > 1 or h % g, id="a remainder of 1, heads"),
        pytest.param(lambda m, h, g: m % h or h % g > 1, id="a remainder of 1, groups"),
        pytest.param(lambda m, h, g: m % h or g > h, id="only too many groups"),
        pytest.param(lambda m, h, g: m < h or h % g, id="only too small"),
        pytest.param(lambda m, h, g: m % h and h % g, id="only both"),
        pytest.param(lambda m, h, g: m % h, id="heads alone"),
        pytest.param(lambda m, h, g: h % g, id="groups alone"),
        pytest.param(lambda m, h, g: m % g, id="d_model by groups alone"),
        pytest.param(lambda m, h, g: (m % h and m % g) or h % g, id="d_model by either"),
        pytest.param(lambda m, h, g: m % h or (h % g and m % g), id="groups by either"),
        pytest.param(lambda m, h, g: m % 2 or h % g, id="d_model odd"),
        pytest.param(lambda m, h, g: m % h or h % 2 != g % 2, id="parity of groups"),
        pytest.param(lambda m, h, g: m % h or (h % g and g < h), id="too many groups pass"),
    ],
)
def test_wrong_check_accepts_a_row(refuses: Callable[[int, int, int], int]) -> None:
    """Each lambda is a check that differs from the contract."""
    rows = [tuple(refusal.arguments.values()) for refusal in _maker.bad_groups()]
    assert not all(refuses(*row) for row in rows)  # type: ignore[arg-type]


def test_more_arguments_are_in_every_call() -> None:
    """A constructor may need other arguments, for example the width of a memory."""
    assert all(refusal.arguments["memory_dim"] == 24 for refusal in _maker.bad_heads(memory_dim=24))
