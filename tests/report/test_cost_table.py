"""Tests of the table of `attn-drill compare`."""

from tests.support.display import words_of
from trainer.report.cost_table import render
from trainer.tools import attention_costs, decode_steps


def test_reason_for_slow_mla_is_shown_only_if_it_applies() -> None:
    """MLA reads less and multiplies more only for some sizes."""
    measured = decode_steps.Measured((decode_steps.Ratio(1.0, 1.0, 1.0),) * 3, 9, 1)
    for arguments, is_shown in (
        ({}, True),
        ({"num_heads": 1}, False),
        ({"kv_rank": 20, "rope_dim": 2}, False),
    ):
        configuration = attention_costs.configure(**{"d_model": 96, "num_heads": 3, **arguments})
        costs = attention_costs.costs(configuration)
        text = words_of([render(configuration, None, costs, measured)])
        assert ("multiplies more" in text) == is_shown
