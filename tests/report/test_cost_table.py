"""Tests of the table of `attn-drill compare`."""

import re

from trainer.report import cost_table
from trainer.tools import attention_costs, decode_steps


def test_bars_are_as_long_as_the_caches() -> None:
    """Bars are exact to an eighth of a character. The smallest bar is still visible."""
    assert [cost_table._bar(size, 64, 16, unicode=True) for size in (64, 32, 2, 1, 0)] == [
        "█" * 16,
        "█" * 8,
        "▌",
        "▎",
        "▏",
    ]
    assert len(cost_table._bar(3, 64, 16, unicode=True)) == 1
    configuration = attention_costs.configure(d_model=64, num_heads=4, kv_rank=500)
    text = cost_table.as_text(
        configuration,
        None,
        attention_costs.costs(configuration),
        None,
        width=80,
        unicode=False,
        colour=False,
    )
    bars = [len(bar) for bar in re.findall("#+", text)]
    assert bars[-1] == max(bars) > bars[0]
    assert max(len(line) for line in text.splitlines()) <= 80


def test_reason_for_slow_mla_is_shown_only_if_it_applies() -> None:
    """MLA reads less and multiplies more only for some sizes."""
    measured = decode_steps.Measured((decode_steps.Ratio(1.0, 1.0, 1.0),) * 3, 9, 1)
    for arguments, is_shown in (
        ({}, True),
        ({"num_heads": 1}, False),
        ({"kv_rank": 20, "rope_dim": 2}, False),
    ):
        configuration = attention_costs.configure(**{"d_model": 96, "num_heads": 3, **arguments})
        text = cost_table.as_text(
            configuration,
            None,
            attention_costs.costs(configuration),
            measured,
            width=300,
            unicode=True,
            colour=False,
        )
        assert ("multiplies more" in text) == is_shown
