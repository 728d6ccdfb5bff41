"""Tests of the decode steps that `attn-drill compare --measure` times."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.support.compare import reference
from trainer.tools import attention_costs, decode_steps

SIZES = decode_steps.Sizes(
    batch=3,
    seq_len=7,
    d_model=20,
    num_heads=6,
    head_dim=5,
    kv_rank=11,
    rope_dim=4,
    q_rank=9,
    dtype="float64",
)


def tensors(layer: decode_steps.GroupedLayer | decode_steps.LatentLayer) -> list[torch.Tensor]:
    """Return the weights and the cache of a layer."""
    return [value for value in vars(layer).values() if isinstance(value, torch.Tensor)]


@pytest.mark.parametrize("q_rank", [9, None])
def test_layers_have_the_sizes_of_the_cost_table(q_rank: int | None) -> None:
    """The limit on memory relies on this."""
    configuration = attention_costs.configure(
        None,
        "float64",
        d_model=20,
        num_heads=6,
        num_kv_heads=3,
        head_dim=5,
        seq_len=7,
        batch=3,
        kv_rank=11,
        rope_dim=4,
        q_rank=q_rank,
    )
    sizes = dataclasses.replace(SIZES, q_rank=q_rank)
    generator = torch.Generator()
    for row in attention_costs.costs(configuration):
        layer = (
            decode_steps.latent_layer(sizes, generator)
            if row.num_kv_heads is None
            else decode_steps.grouped_layer(sizes, row.num_kv_heads, generator)
        )
        entries = sum(tensor.numel() for tensor in tensors(layer))
        assert entries == row.parameters + row.cache_bytes // 8
        assert {tensor.dtype for tensor in tensors(layer)} == {torch.float64}


@pytest.mark.parametrize("num_kv_heads", [6, 3, 2, 1])
def test_grouped_step_gives_the_last_row_of_the_reference(num_kv_heads: int) -> None:
    """The step uses the cache of the earlier tokens. The reference expands the keys and values."""
    sizes = dataclasses.replace(SIZES, d_model=30)
    layer = decode_steps.grouped_layer(sizes, num_kv_heads, torch.Generator().manual_seed(1))
    module = reference("gqa")["GroupedQueryAttention"](30, 6, num_kv_heads, bias=False).double()
    module.load_state_dict(
        {
            f"{name}.weight": getattr(layer, name)
            for name in ("q_proj", "k_proj", "v_proj", "o_proj")
        }
    )
    x = torch.randn(3, 7, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = module(x, torch.ones(7, 7, dtype=torch.bool).tril())[:, -1]
        keys, values = (
            projection(x).view(3, 7, num_kv_heads, 5).transpose(1, 2)
            for projection in (module.k_proj, module.v_proj)
        )
        layer.keys[:, :, :-1] = keys[:, :, :-1]
        layer.values[:, :, :-1] = values[:, :, :-1]
        torch.testing.assert_close(decode_steps.grouped_step(layer, x[:, -1]), expected)
    torch.testing.assert_close(layer.keys, keys)
    torch.testing.assert_close(layer.values, values)


def latent_reference(layer: decode_steps.LatentLayer) -> torch.nn.Module:
    """Return the reference module with the weights of a layer."""
    module: torch.nn.Module = reference("mla")["MultiHeadLatentAttention"](
        20, 6, 9, 11, 5, 4, 5
    ).double()
    module.load_state_dict(
        {
            f"{name}.weight": getattr(layer, name)
            for name in ("q_down", "q_up", "q_rope", "kv_down", "k_rope", "k_up", "v_up", "o_proj")
        }
    )
    return module


def test_absorbed_step_gives_the_last_row_of_the_reference() -> None:
    """The step uses the cache of latents; the reference computes all keys and values.

    All positions are 0, so there is no rotation.
    """
    layer = decode_steps.latent_layer(SIZES, torch.Generator().manual_seed(1))
    module = latent_reference(layer)
    x = torch.randn(3, 7, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = module(
            x, torch.ones(7, 7, dtype=torch.bool).tril(), torch.zeros(3, 7, dtype=torch.int64)
        )[:, -1]
        latents, rotary_keys = module.kv_down(x), module.k_rope(x)
        layer.latents[:, :-1] = latents[:, :-1]
        layer.rotary_keys[:, :-1] = rotary_keys[:, :-1]
        torch.testing.assert_close(decode_steps.latent_step(layer, x[:, -1]), expected)
    torch.testing.assert_close(layer.latents, latents)
    torch.testing.assert_close(layer.rotary_keys, rotary_keys)


def test_query_without_low_rank_pair_gives_the_same_step() -> None:
    """The single projection is the product of the low-rank pair."""
    pair = decode_steps.latent_layer(SIZES, torch.Generator().manual_seed(1))
    assert pair.q_down is not None
    whole = dataclasses.replace(
        pair, q_down=None, q_up=pair.q_up @ pair.q_down, q_rope=pair.q_rope @ pair.q_down
    )
    token = torch.randn(3, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(
        decode_steps.latent_step(whole, token), decode_steps.latent_step(pair, token)
    )


class LargestMade(TorchDispatchMode):
    """Record the size of the largest tensor that an operation allocates."""

    numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and record its output unless it shares memory with an argument."""
        out = func(*args, **(kwargs or {}))
        given = {
            argument.untyped_storage().data_ptr()
            for argument in args
            if isinstance(argument, torch.Tensor)
        }
        if isinstance(out, torch.Tensor) and out.untyped_storage().data_ptr() not in given:
            self.numel = max(self.numel, out.numel())
        return out


WIDE = dataclasses.replace(SIZES, seq_len=101, head_dim=40, kv_rank=30, dtype="float32")


def test_no_step_copies_or_expands_its_cache() -> None:
    """All allocated tensors are smaller than the cache. The test notices an expanded cache."""
    generator = torch.Generator().manual_seed(1)
    token = torch.randn(3, 20, generator=generator)
    steps: list[tuple[int, Callable[[], object]]] = []
    for number in (6, 3, 1):
        grouped = decode_steps.grouped_layer(WIDE, number, generator)
        steps.append(
            (grouped.keys.numel(), functools.partial(decode_steps.grouped_step, grouped, token))
        )
    latent = decode_steps.latent_layer(WIDE, generator)
    steps.append(
        (latent.latents.numel(), functools.partial(decode_steps.latent_step, latent, token))
    )
    for cache, step in steps:
        with LargestMade() as made:
            step()
        assert 0 < made.numel < cache
    with LargestMade() as made:
        grouped.keys.repeat_interleave(6, dim=1)
    assert made.numel >= 6 * grouped.keys.numel()


@pytest.mark.parametrize("dtype", attention_costs.MEASURABLE)
def test_every_dtype_can_be_measured(dtype: str) -> None:
    """A step of each variant gives finite numbers of the requested dtype."""
    sizes = dataclasses.replace(SIZES, dtype=dtype)
    generator = torch.Generator().manual_seed(3)
    token = decode_steps.noise((3, 20), 1.0, dtype, generator)
    for out in (
        decode_steps.grouped_step(decode_steps.grouped_layer(sizes, 2, generator), token),
        decode_steps.latent_step(decode_steps.latent_layer(sizes, generator), token),
    ):
        assert out.shape == (3, 20)
        assert out.dtype == getattr(torch, dtype)
        assert out.isfinite().all()


def test_noise_has_any_length() -> None:
    """Numbers beyond the drawn part are repeated. They are normally distributed."""
    generator = torch.Generator().manual_seed(3)
    for shape in ((5, 7), (3, 1 << 20), (4, 0)):
        made = decode_steps.noise(shape, 0.5, "float32", generator)
        assert made.shape == shape
        assert made.is_contiguous()
    large = decode_steps.noise((3, 1 << 20), 0.5, "float32", generator)
    assert ((large.std(dim=1) - 0.5).abs() < 0.01).all()


def test_ratios_are_taken_within_a_round() -> None:
    """Every round runs each step once, in order, so that a slow round changes no ratio."""
    now, calls = [0.0], []

    def step(name: str, cost: float) -> Callable[[], None]:
        def run() -> None:
            calls.append(name)
            # All steps of every third round take five times as long.
            slowdown = 5 if (len(calls) - 1) // 3 % 3 == 0 else 1
            now[0] += cost * slowdown

        return run

    steps = [step("first", 8.0), step("half", 4.0), step("twice", 16.0)]
    ratios, rounds = decode_steps.side_by_side(steps, seconds=0.0, clock=lambda: now[0])
    assert rounds == 9
    assert calls == ["first", "half", "twice"] * (9 + 2)
    assert ratios == [decode_steps.Ratio(ratio, ratio, ratio) for ratio in (1.0, 0.5, 2.0)]


def test_ratio_has_median_and_quartiles() -> None:
    """A step that takes 1 to 9 times the first step has the median 5 and the quartiles 3 and 7."""
    now = [0.0]
    costs_of_rounds = iter([1, 1, 7, 1, 9, 3, 5, 2, 8, 4, 6])

    def first() -> None:
        now[0] += 1

    def varying() -> None:
        now[0] += next(costs_of_rounds)

    ratios, _ = decode_steps.side_by_side([first, varying], seconds=0.0, clock=lambda: now[0])
    assert ratios[1] == decode_steps.Ratio(5.0, 3.0, 7.0)


def test_number_of_rounds_depends_on_the_time() -> None:
    """There are as many rounds as fit into the time, within bounds."""
    now = [0.0]

    def step() -> None:
        now[0] += 0.05

    assert decode_steps.side_by_side([step, step], seconds=3.0, clock=lambda: now[0])[1] in (29, 30)
    assert decode_steps.side_by_side([step, step], seconds=1e9, clock=lambda: now[0])[1] == 301
    assert decode_steps.side_by_side([step, step], seconds=1e-9, clock=lambda: now[0])[1] == 9
