"""Tests for the words about dropout."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_drill.casekit import dropout_factors, dropout_in_turn

HALF = 0.5


def test_dropout_in_turn_is_the_same_with_the_same_seed_and_quiet_in_eval_mode() -> None:
    """Right dropout differs between calls, but not with the same seed, and not in eval mode."""
    layer = nn.Dropout(HALF)
    found = dropout_in_turn(layer, lambda: layer(torch.ones(50)))
    assert [*found.values()] == ["True", "False", "as before"]
    assert not layer.training


def test_dropout_that_never_stops_or_stops_for_good_is_described() -> None:
    """Dropout in eval mode, and dropout that a call in eval mode ends, have words of their own."""
    layer = nn.Dropout(HALF)
    always = dropout_in_turn(layer, lambda: functional.dropout(torch.ones(50), HALF))
    assert [*always.values()] == ["True", "True", "as before"]

    def call() -> Tensor:
        if not layer.training:
            layer.p = 0.0
        return layer(torch.ones(50))

    lost = dropout_in_turn(layer, call)
    assert [*lost.values()] == ["True", "False", "not as before"]


def test_factors_show_how_often_dropout_acts_and_whether_it_scales() -> None:
    """Each dropout divides the kept entries by 1 - p, unless it forgets to."""
    torch.manual_seed(0)
    x = torch.randn(40, 6)
    once = functional.dropout(x, HALF)
    assert dropout_factors(x, x, HALF) == "1"
    assert dropout_factors(once, x, HALF) == "0, 1 / (1 - p)"
    assert dropout_factors(functional.dropout(once, HALF), x, HALF) == "0, 1 / (1 - p)^2"
    assert dropout_factors(once / 2, x, HALF) == "0, 1"
    assert dropout_factors(once + 0.01, x, HALF) == "other numbers"


def test_factors_show_rows_and_parts_that_are_dropped_together() -> None:
    """Whole rows, and parts of an entry, may be dropped."""
    torch.manual_seed(0)
    x = torch.ones(40, 6)
    rows = functional.dropout(torch.ones(40, 1), HALF) * x
    assert dropout_factors(rows, x, HALF) == "0, 1 / (1 - p), the same along the last dim"
    third = 0.3
    parts = sum(functional.dropout(x / 2, third) for _ in range(2))
    assert dropout_factors(parts, x, third, 2) == "0, 1/2 / (1 - p), 1 / (1 - p)"
