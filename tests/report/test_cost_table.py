"""`attn-drill compare`: its figures against the references', its table at every width, and the decode steps that it times."""

import re

from trainer.report import cost_table as display
from trainer.tools import attention_costs, decode_steps


def test_bars_are_as_long_as_the_caches() -> None:
    """To an eighth of a character; where MLA's cache is the greatest its bar is the longest; the smallest still shows."""
    assert [display._bar(size, 64, 16, unicode=True) for size in (64, 32, 2, 1, 0)] == [
        "█" * 16,
        "█" * 8,
        "▌",
        "▎",
        "▏",
    ]
    assert len(display._bar(3, 64, 16, unicode=True)) == 1
    configuration = attention_costs.configure(d_model=64, num_heads=4, kv_rank=500)
    text = display.as_text(
        configuration,
        None,
        attention_costs.costs(configuration),
        None,
        width=80,
        unicode=False,
        colour=False,
    )
    bars = [len(one) for one in re.findall("#+", text)]
    assert bars[-1] == max(bars) > bars[0]
    assert max(len(line) for line in text.splitlines()) <= 80


def test_why_mla_is_slower_is_said_where_it_is_so() -> None:
    """That MLA reads less and multiplies more is said only of sizes of which it holds."""
    measured = decode_steps.Measured((decode_steps.Ratio(1.0, 1.0, 1.0),) * 3, 9, 1)
    for arguments, said in (
        ({}, True),
        ({"num_heads": 1}, False),
        ({"kv_rank": 20, "rope_dim": 2}, False),
    ):
        configuration = attention_costs.configure(**{"d_model": 96, "num_heads": 3, **arguments})
        text = display.as_text(
            configuration,
            None,
            attention_costs.costs(configuration),
            measured,
            width=300,
            unicode=True,
            colour=False,
        )
        assert ("multiplies more" in text) == said
