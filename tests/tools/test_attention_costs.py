"""Tests of the costs of attention variants, compared with the references."""

from typing import Any

import pytest
import torch

from attn_drill.model.errors import DrillError
from attn_drill.tools.attention_costs import Cost, configure, costs, find_preset
from tests.support.tools import reference


def by_name(*settings: str, preset: str = "") -> dict[str, Cost]:
    """Return the costs by variant. If there are several GQA rows, return the last."""
    sizes = configure(find_preset(preset) if preset else None, settings)
    return {row.variant: row for row in costs(sizes)}


def count(module: torch.nn.Module) -> int:
    """Return the number of parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("num_heads", "expected"), [(32, [8, 4]), (8, [4]), (12, [4]), (4, []), (6, [])]
)
def test_default_kv_heads_are_8_and_4(num_heads: int, expected: list[int]) -> None:
    """They must divide the heads and differ from the number of heads."""
    rows = costs(configure(settings=[f"d_model=192,num_heads={num_heads}"]))
    assert [row.num_kv_heads for row in rows if row.variant == "GQA"] == expected


@pytest.mark.parametrize(
    ("d_model", "heads", "kv_heads", "seq_len", "batch", "layers", "dtype", "size"),
    [
        (30, 6, 3, 7, 2, 5, "float16", 2),
        (77, 11, 1, 13, 3, 1, "float64", 8),
        (48, 8, 2, 1, 1, 9, "int8", 1),
    ],
)
def test_costs_agree_with_the_cost_challenge(
    d_model: int,
    heads: int,
    kv_heads: int,
    seq_len: int,
    batch: int,
    layers: int,
    dtype: str,
    size: int,
) -> None:
    """Parameters and caches are equal to those of the reference of `attention-cost`."""
    known = reference("attention_cost")
    settings = (
        f"d_model={d_model},num_heads={heads},num_kv_heads={kv_heads},seq_len={seq_len}",
        f"batch={batch},num_layers={layers},dtype={dtype},kv_rank=17,rope_dim=10",
    )
    for row in by_name(*settings).values():
        if row.num_kv_heads is None:
            expected = known["mla_cache_bytes"](batch, seq_len, layers, 17, 10, size)
        else:
            parameters = known["attention_params"](d_model, heads, row.num_kv_heads)
            assert row.parameters == layers * parameters
            expected = known["kv_cache_bytes"](
                batch, seq_len, layers, row.num_kv_heads, d_model // heads, size
            )
        assert row.cache_bytes == expected == row.bytes_per_token * batch * seq_len


def test_parameters_agree_with_the_reference_layers() -> None:
    """MLA is tested with and without a low-rank pair for the query."""
    settings = "d_model=36,num_heads=6,num_kv_heads=2,kv_rank=11,rope_dim=4"
    rows = by_name(settings, "q_rank=7")
    layers: dict[str, Any] = {
        "MHA": reference("mha")["MultiHeadAttention"](36, 6, bias=False),
        "GQA": reference("gqa")["GroupedQueryAttention"](36, 6, 2, bias=False),
        "MQA": reference("mqa")["MultiQueryAttention"](36, 6, bias=False),
        "MLA": reference("mla")["MultiHeadLatentAttention"](36, 6, 7, 11, 6, 4, 6),
    }
    assert {name: row.parameters for name, row in rows.items()} == {
        name: count(layer) for name, layer in layers.items()
    }
    latent = layers["MLA"]
    pair = count(latent.q_down) + count(latent.q_up) + count(latent.q_rope)
    whole = count(latent) - pair + count(torch.nn.Linear(36, 6 * (6 + 4), bias=False))
    assert by_name(settings)["MLA"].parameters == whole


def test_mla_cache_of_deepseek_v3_is_57_times_smaller() -> None:
    """MHA with 128 heads of 128 needs 56.9 times the cache. A layer has 187 million parameters."""
    rows = by_name(preset="deepseek-v3")
    assert rows["MHA"].bytes_per_token == 3_997_696
    assert round(100 / rows["MLA"].cache_percent, 1) == 56.9
    assert rows["MLA"].parameters == 61 * (
        7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
    )


def test_settings_override_a_preset() -> None:
    """head_dim follows d_model / num_heads, unless the preset publishes it separately."""
    llama = configure(find_preset("Llama-3-8B"), ["d_model=2048", "num_kv_heads=4, num_layers=2"])
    assert (llama.num_heads, llama.num_kv_heads, llama.num_layers) == (32, 4, 2)
    assert (llama.head_dim, llama.kv_rank, llama.rope_dim) == (64, 256, 32)
    assert llama.dtype == "bfloat16"
    deepseek = configure(find_preset("DeepSeek-V3"), ["d_model=5120", "kv_rank=256"])
    assert (deepseek.head_dim, deepseek.kv_rank, deepseek.q_rank) == (128, 256, 1536)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("d_model=100,num_heads=7", "d_model 100 is not divisible by num_heads 7. Set d_model=98,"),
        ("d_model=3,num_heads=7", "d_model 3 is not divisible by num_heads 7. Set d_model=7,"),
        ("num_kv_heads=5", "num_heads 32 is not divisible by num_kv_heads 5"),
        ("batch=0", "batch is '0'; it must be 1 to 1,000,000,000."),
        ("batch=-3", "batch is '-3'; it must be 1 to"),
        ("seq_len=1000000001", "seq_len is '1000000001'; it must be 1 to"),
        ("num_heads", "num_heads is ''; it must be 1 to"),
        ("heads=4", "--set is 'heads=4'; it must be NAME=VALUE with one of the names d_model, num"),
        ("dtype=bfloat", "dtype is 'bfloat'; it must be one of float64, float32, bfloat16"),
    ],
)
def test_wrong_settings_are_refused(setting: str, says: str) -> None:
    """The message has the value and the possible values."""
    with pytest.raises(DrillError, match=says):
        configure(settings=[setting])


def test_unknown_preset_is_refused() -> None:
    """The message has all names."""
    with pytest.raises(DrillError, match=r"no preset 'Lama'\. There are: Llama.*DeepSeek-V3"):
        find_preset("Lama")
