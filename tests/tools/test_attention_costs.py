"""`attn-drill compare`: its figures against the references', its table at every width, and the decode steps that it times."""

import dataclasses

import pytest
import torch

from tests.support.compare import MIB, reference
from trainer.model.errors import DrillError
from trainer.report import cost_table as display
from trainer.tools import attention_costs


def by_name(configuration: attention_costs.Configuration) -> dict[str, attention_costs.Cost]:
    """The costs by variant; of several GQA rows the last."""
    return {row.variant: row for row in attention_costs.costs(configuration)}


def count(module: torch.nn.Module) -> int:
    """The number of a module's parameters."""
    return sum(one.numel() for one in module.parameters())


@pytest.mark.parametrize(
    ("num_heads", "expected"),
    [(32, [8, 4]), (64, [8, 4]), (8, [4]), (12, [4]), (4, []), (6, []), (1, [])],
)
def test_the_usual_numbers_of_kv_heads(num_heads: int, expected: list[int]) -> None:
    """8, then 4, where they divide the heads and are not all of them; without either the text says what to do."""
    configuration = attention_costs.configure(d_model=192, num_heads=num_heads)
    rows = attention_costs.costs(configuration)
    assert [row.num_kv_heads for row in rows if row.variant == "GQA"] == expected
    text = display.as_text(configuration, None, rows, None, width=300, unicode=True, colour=False)
    assert ("Neither 8 nor 4 KV heads" in text) == (not expected)


def test_the_formulas_of_the_cost_challenge() -> None:
    """Parameters and caches are those of the reference of `attention-cost`, whatever the sizes."""
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


def test_the_parameters_of_the_references_layers() -> None:
    """The reference modules have as many parameters, MLA with its query's low-rank pair and without."""
    configuration = attention_costs.configure(
        d_model=36, num_heads=6, num_kv_heads=2, kv_rank=11, rope_dim=4, q_rank=7
    )
    found = by_name(configuration)
    assert found["MHA"].parameters == count(
        reference("mha")["MultiHeadAttention"](36, 6, bias=False)
    )
    assert found["GQA"].parameters == count(
        reference("gqa")["GroupedQueryAttention"](36, 6, 2, bias=False)
    )
    assert found["MQA"].parameters == count(
        reference("mqa")["MultiQueryAttention"](36, 6, bias=False)
    )
    latent = reference("mla")["MultiHeadLatentAttention"](36, 6, 7, 11, 6, 4, 6)
    assert found["MLA"].parameters == count(latent)
    pair = count(latent.q_down) + count(latent.q_up) + count(latent.q_rope)
    whole = by_name(dataclasses.replace(configuration, q_rank=None))["MLA"].parameters
    assert whole == count(latent) - pair + count(torch.nn.Linear(36, 6 * (6 + 4), bias=False))


def test_deepseek_v3() -> None:
    """Beside 128 heads of 128, MLA's cache is 1/56.9, and a layer has 187 million parameters."""
    configuration = attention_costs.configure(
        attention_costs.find_preset("DeepSeek-V3"), "bfloat16"
    )
    found = by_name(configuration)
    assert found["MHA"].bytes_per_token == 3_997_696
    assert round(100 / found["MLA"].cache_percent, 1) == 56.9
    assert found["MLA"].parameters == 61 * (
        7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
    )


def test_options_override_a_preset() -> None:
    """What is given beside a preset wins; a head dim that is d_model / heads follows, one that is published by itself stays."""
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
def test_bytes_in_units(size: int, shown: str) -> None:
    """Powers of 1024, at most one decimal, never 1024 of a unit that has a next one."""
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
def test_decimals(value: float, shown: str) -> None:
    """One decimal, halves up, no `.0`, and nothing that is more than 0 shown as 0."""
    assert attention_costs.decimal(value) == shown


def test_what_is_too_large_to_measure_is_refused_before_it_is_made() -> None:
    """Just up to the bound is taken; a byte more is refused with both numbers. Layers do not count: one is measured."""
    configuration = attention_costs.configure(d_model=64, num_heads=4, num_layers=1000)
    row = attention_costs.Cost("MHA", 4, 0, 1000 * attention_costs.MOST_MEASURED_BYTES, 0, 100)
    attention_costs.check_measurable(configuration, [row])
    with pytest.raises(DrillError, match=r"would need 4\.5 GiB .* 4 GiB at most"):
        attention_costs.check_measurable(
            configuration, [row, dataclasses.replace(row, cache_bytes=1000 << 29)]
        )
    with pytest.raises(DrillError, match="4 GiB at most"):
        attention_costs.check_measurable(configuration, [dataclasses.replace(row, parameters=250)])
