"""Tests of the costs of attention variants, compared with the references."""

import dataclasses

import pytest
import torch

from tests.support.compare import MIB, reference
from tests.support.display import words_of
from trainer.model.errors import DrillError
from trainer.report import cost_table
from trainer.tools import attention_costs


def by_name(configuration: attention_costs.Configuration) -> dict[str, attention_costs.Cost]:
    """Return the costs by variant. If there are several GQA rows, return the last."""
    return {row.variant: row for row in attention_costs.costs(configuration)}


def count(module: torch.nn.Module) -> int:
    """Return the number of parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("num_heads", "expected"),
    [(32, [8, 4]), (64, [8, 4]), (8, [4]), (12, [4]), (4, []), (6, []), (1, [])],
)
def test_default_kv_heads_are_8_and_4(num_heads: int, expected: list[int]) -> None:
    """They must divide the heads and differ from the number of heads.

    Without a row of GQA, the text gives a hint.
    """
    configuration = attention_costs.configure(d_model=192, num_heads=num_heads)
    rows = attention_costs.costs(configuration)
    assert [row.num_kv_heads for row in rows if row.variant == "GQA"] == expected
    text = words_of([cost_table.render(configuration, None, rows, None)])
    assert ("Neither 8 nor 4 KV heads" in text) == (not expected)


def test_costs_agree_with_the_cost_challenge() -> None:
    """Parameters and caches are equal to those of the reference of `attention-cost`."""
    known = reference("attention_cost")
    for d_model, heads, kv_heads, seq_len, batch, layers, dtype, size in [
        (30, 6, 3, 7, 2, 5, "float16", 2),
        (77, 11, 1, 13, 3, 1, "float64", 8),
        (48, 8, 2, 1, 1, 9, "int8", 1),
    ]:
        configuration = attention_costs.configure(
            None,
            dtype,
            d_model=d_model,
            num_heads=heads,
            num_kv_heads=kv_heads,
            seq_len=seq_len,
            batch=batch,
            num_layers=layers,
            kv_rank=17,
            rope_dim=10,
        )
        for row in attention_costs.costs(configuration):
            if row.num_kv_heads is None:
                expected = known["mla_cache_bytes"](batch, seq_len, layers, 17, 10, size)
            else:
                assert row.parameters == layers * known["attention_params"](
                    d_model, heads, row.num_kv_heads
                )
                expected = known["kv_cache_bytes"](
                    batch, seq_len, layers, row.num_kv_heads, d_model // heads, size
                )
            assert row.cache_bytes == expected
            assert row.bytes_per_token * batch * seq_len == expected


def test_parameters_agree_with_the_reference_layers() -> None:
    """MLA is tested with and without a low-rank pair for the query."""
    configuration = attention_costs.configure(
        d_model=36, num_heads=6, num_kv_heads=2, kv_rank=11, rope_dim=4, q_rank=7
    )
    costs = by_name(configuration)
    assert costs["MHA"].parameters == count(
        reference("mha")["MultiHeadAttention"](36, 6, bias=False)
    )
    assert costs["GQA"].parameters == count(
        reference("gqa")["GroupedQueryAttention"](36, 6, 2, bias=False)
    )
    assert costs["MQA"].parameters == count(
        reference("mqa")["MultiQueryAttention"](36, 6, bias=False)
    )
    latent = reference("mla")["MultiHeadLatentAttention"](36, 6, 7, 11, 6, 4, 6)
    assert costs["MLA"].parameters == count(latent)
    pair = count(latent.q_down) + count(latent.q_up) + count(latent.q_rope)
    whole = by_name(dataclasses.replace(configuration, q_rank=None))["MLA"].parameters
    assert whole == count(latent) - pair + count(torch.nn.Linear(36, 6 * (6 + 4), bias=False))


def test_mla_cache_of_deepseek_v3_is_57_times_smaller() -> None:
    """MHA with 128 heads of 128 needs 56.9 times the cache. A layer has 187 million parameters."""
    configuration = attention_costs.configure(
        attention_costs.find_preset("DeepSeek-V3"), "bfloat16"
    )
    costs = by_name(configuration)
    assert costs["MHA"].bytes_per_token == 3_997_696
    assert round(100 / costs["MLA"].cache_percent, 1) == 56.9
    assert costs["MLA"].parameters == 61 * (
        7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
    )


def test_options_override_a_preset() -> None:
    """head_dim follows d_model / heads, unless the preset publishes it separately."""
    llama = attention_costs.configure(
        attention_costs.find_preset("Llama-3-8B"), d_model=2048, num_kv_heads=4, num_layers=2
    )
    assert (
        llama.d_model,
        llama.num_heads,
        llama.num_kv_heads,
        llama.head_dim,
        llama.num_layers,
        llama.kv_rank,
        llama.rope_dim,
    ) == (
        2048,
        32,
        4,
        64,
        2,
        256,
        32,
    )
    assert (
        attention_costs.configure(
            attention_costs.find_preset("Llama-3-8B"), d_model=2048, head_dim=128
        ).head_dim
        == 128
    )
    deepseek = attention_costs.configure(
        attention_costs.find_preset("DeepSeek-V3"), d_model=5120, kv_rank=256
    )
    assert (deepseek.head_dim, deepseek.kv_rank, deepseek.rope_dim, deepseek.q_rank) == (
        128,
        256,
        64,
        1536,
    )


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (2304, "2.3 KiB"),
        (MIB - 1, "1 MiB"),
        (64 * MIB, "64 MiB"),
        (4 << 30, "4 GiB"),
        (70_272, "68.6 KiB"),
        (5 << 40, "5 TiB"),
    ],
)
def test_bytes_are_written_in_powers_of_1024(size: int, shown: str) -> None:
    """There is at most one decimal, and never 1024 of a unit with a next unit."""
    assert attention_costs.in_units(size) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (100.0, "100"),
        (12.5, "12.5"),
        (3.125, "3.1"),
        (6.25, "6.3"),
        (0.04, "<0.1"),
        (0.0, "0"),
        (99.96, "100"),
        (3904.0, "3,904"),
    ],
)
def test_numbers_have_at_most_one_decimal(value: float, shown: str) -> None:
    """Halves are rounded up, `.0` is removed, and a positive number is never shown as 0."""
    assert attention_costs.decimal(value) == shown


def test_too_large_measurements_are_refused() -> None:
    """The limit itself is allowed. The message has both sizes. Only one layer counts."""
    configuration = attention_costs.configure(d_model=64, num_heads=4, num_layers=1000)
    row = attention_costs.Cost("MHA", 4, 0, 1000 * attention_costs.MOST_MEASURED_BYTES, 0, 100)
    attention_costs.check_measurable(configuration, [row])
    with pytest.raises(DrillError, match=r"would need 4\.5 GiB .* 4 GiB at most"):
        attention_costs.check_measurable(
            configuration, [row, dataclasses.replace(row, cache_bytes=1000 << 29)]
        )
    with pytest.raises(DrillError, match="4 GiB at most"):
        attention_costs.check_measurable(configuration, [dataclasses.replace(row, parameters=250)])
