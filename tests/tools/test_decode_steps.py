"""`attn-drill compare`: its figures against the references', its table at every width, and the decode steps that it times."""

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
    """A layer's weights and cache."""
    return [one for one in vars(layer).values() if isinstance(one, torch.Tensor)]


@pytest.mark.parametrize("q_rank", [9, None])
def test_layers_are_as_large_as_the_table_says(q_rank: int | None) -> None:
    """Weights and cache of one layer have as many numbers as the table counts, so that the bound on memory holds."""
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
        assert sum(one.numel() for one in tensors(layer)) == row.parameters + row.cache_bytes // 8
        assert {one.dtype for one in tensors(layer)} == {torch.float64}


@pytest.mark.parametrize("num_kv_heads", [6, 3, 2, 1])
def test_a_grouped_step_is_the_references_last_row(num_kv_heads: int) -> None:
    """MHA, GQA and MQA: a step on the cache of the earlier tokens gives what the reference, which expands, gives for the last of all."""
    sizes = dataclasses.replace(SIZES, d_model=30)
    layer = decode_steps.grouped_layer(sizes, num_kv_heads, torch.Generator().manual_seed(1))
    whole = reference("gqa")["GroupedQueryAttention"](30, 6, num_kv_heads, bias=False).double()
    whole.load_state_dict(
        {
            f"{name}.weight": getattr(layer, name)
            for name in ("q_proj", "k_proj", "v_proj", "o_proj")
        }
    )
    x = torch.randn(3, 7, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = whole(x, torch.ones(7, 7, dtype=torch.bool).tril())[:, -1]
        keys, values = (
            one(x).view(3, 7, num_kv_heads, 5).transpose(1, 2)
            for one in (whole.k_proj, whole.v_proj)
        )
        layer.keys[:, :, :-1] = keys[:, :, :-1]
        layer.values[:, :, :-1] = values[:, :, :-1]
        torch.testing.assert_close(decode_steps.grouped_step(layer, x[:, -1]), expected)
    torch.testing.assert_close(layer.keys, keys)
    torch.testing.assert_close(layer.values, values)


def latent_reference(layer: decode_steps.LatentLayer) -> torch.nn.Module:
    """The reference module with a layer's weights."""
    whole: torch.nn.Module = reference("mla")["MultiHeadLatentAttention"](
        20, 6, 9, 11, 5, 4, 5
    ).double()
    whole.load_state_dict(
        {
            f"{name}.weight": getattr(layer, name)
            for name in ("q_down", "q_up", "q_rope", "kv_down", "k_rope", "k_up", "v_up", "o_proj")
        }
    )
    return whole


def test_an_absorbed_step_is_the_references_last_row() -> None:
    """MLA: absorbed, on the cache of latents, gives what the reference gives, which makes every head's keys and values (all positions 0: no rotation)."""
    layer = decode_steps.latent_layer(SIZES, torch.Generator().manual_seed(1))
    whole = latent_reference(layer)
    x = torch.randn(3, 7, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = whole(
            x, torch.ones(7, 7, dtype=torch.bool).tril(), torch.zeros(3, 7, dtype=torch.int64)
        )[:, -1]
        latents, rotary_keys = whole.kv_down(x), whole.k_rope(x)
        layer.latents[:, :-1] = latents[:, :-1]
        layer.rotary_keys[:, :-1] = rotary_keys[:, :-1]
        torch.testing.assert_close(decode_steps.latent_step(layer, x[:, -1]), expected)
    torch.testing.assert_close(layer.latents, latents)
    torch.testing.assert_close(layer.rotary_keys, rotary_keys)


def test_a_step_without_a_low_rank_query() -> None:
    """MLA whose query is projected at once gives what a low-rank pair whose product is that projection gives."""
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
    """The largest tensor that an operation makes in memory of its own."""

    numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and note its output unless it lies in the memory of an argument."""
        out = func(*args, **(kwargs or {}))
        given = {one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)}
        if isinstance(out, torch.Tensor) and out.untyped_storage().data_ptr() not in given:
            self.numel = max(self.numel, out.numel())
        return out


WIDE = dataclasses.replace(SIZES, seq_len=101, head_dim=40, kv_rank=30, dtype="float32")


def test_no_step_copies_or_expands_its_cache() -> None:
    """Nothing that a step makes is as large as its cache; an expanded cache is seen to be."""
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
    """A step of each variant gives finite numbers of the dtype that was asked for."""
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


def test_noise_of_any_length() -> None:
    """Short or longer than what is drawn: the shape that was asked for, normal numbers, no part left out."""
    generator = torch.Generator().manual_seed(3)
    for shape in ((5, 7), (3, 1 << 20), (4, 0)):
        made = decode_steps.noise(shape, 0.5, "float32", generator)
        assert made.shape == shape
        assert made.is_contiguous()
    large = decode_steps.noise((3, 1 << 20), 0.5, "float32", generator)
    assert ((large.std(dim=1) - 0.5).abs() < 0.01).all()


def test_steps_take_turns_and_are_divided_by_the_first() -> None:
    """Every round runs each step once, in order; ratios are taken within a round, so that a slow round changes none of them."""
    now, calls = [0.0], []

    def step(name: str, cost: float) -> Callable[[], None]:
        def run() -> None:
            calls.append(name)
            busy = (
                5 if (len(calls) - 1) // 3 % 3 == 0 else 1
            )  # every third round, with all that is in it, takes five times as long
            now[0] += cost * busy

        return run

    steps = [step("first", 8.0), step("half", 4.0), step("twice", 16.0)]
    ratios, rounds = decode_steps.side_by_side(steps, seconds=0.0, clock=lambda: now[0])
    assert rounds == 9
    assert calls == ["first", "half", "twice"] * (9 + 2)
    assert ratios == [decode_steps.Ratio(one, one, one) for one in (1.0, 0.5, 2.0)]


def test_the_quartiles_of_what_varies() -> None:
    """A step that takes 1 to 9 parts of the first has the median 5 and the quartiles 3 and 7."""
    now = [0.0]
    costs_of_rounds = iter([1, 1, 7, 1, 9, 3, 5, 2, 8, 4, 6])

    def first() -> None:
        now[0] += 1

    def varying() -> None:
        now[0] += next(costs_of_rounds)

    ratios, _ = decode_steps.side_by_side([first, varying], seconds=0.0, clock=lambda: now[0])
    assert ratios[1] == decode_steps.Ratio(5.0, 3.0, 7.0)


def test_rounds_follow_the_time_there_is() -> None:
    """As many rounds as fit into the seconds, within bounds."""
    now = [0.0]

    def step() -> None:
        now[0] += 0.05

    assert decode_steps.side_by_side([step, step], seconds=3.0, clock=lambda: now[0])[1] in (29, 30)
    assert decode_steps.side_by_side([step, step], seconds=1e9, clock=lambda: now[0])[1] == 301
    assert decode_steps.side_by_side([step, step], seconds=1e-9, clock=lambda: now[0])[1] == 9
