"""Time a decode step of each attention variant relative to a step of MHA.

The new token is the last of the S tokens in the cache. A step projects the token, writes its key
and value (or its latent) into the last place of the cache, and attends to all S tokens. All
variants leave out the rotations. B is batch, M d_model, H the number of heads, G the number of
key/value heads, D head_dim, R kv_rank, Dr rope_dim.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

_FEWEST_ROUNDS, _MOST_ROUNDS = 9, 301


@dataclass(frozen=True)
class Sizes:
    """The sizes of the layers.

    Attributes:
        batch: The number of sequences.
        seq_len: The number of tokens in the cache.
        d_model: The width of the model.
        num_heads: The number of query heads.
        head_dim: The width of a head.
        kv_rank: The width of MLA's latent.
        rope_dim: The width of MLA's rotary key.
        q_rank: The rank of MLA's query, or None for a query with one projection.
        dtype: torch's name of the dtype.
    """

    batch: int
    seq_len: int
    d_model: int
    num_heads: int
    head_dim: int
    kv_rank: int
    rope_dim: int
    q_rank: int | None
    dtype: str


@dataclass(frozen=True)
class GroupedLayer:
    """Weights and cache of MHA (G = H), GQA or MQA (G = 1)."""

    q_proj: Tensor  # [H * D, M]
    k_proj: Tensor  # [G * D, M]
    v_proj: Tensor  # [G * D, M]
    o_proj: Tensor  # [M, H * D]
    keys: Tensor  # [B, G, S, D]
    values: Tensor  # [B, G, S, D]


@dataclass(frozen=True)
class LatentLayer:
    """Weights and cache of MLA. Without `q_down`, the query is projected from the token itself."""

    q_down: Tensor | None  # [Rq, M]
    q_up: Tensor  # [H * D, Rq or M]
    q_rope: Tensor  # [H * Dr, Rq or M]
    kv_down: Tensor  # [R, M]
    k_rope: Tensor  # [Dr, M]
    k_up: Tensor  # [H * D, R]
    v_up: Tensor  # [H * D, R]
    o_proj: Tensor  # [M, H * D]
    latents: Tensor  # [B, S, R]
    rotary_keys: Tensor  # [B, S, Dr]
    num_heads: int


@dataclass(frozen=True)
class Ratio:
    """The time of a step divided by the time of MHA's step in the same round.

    Attributes:
        median: The median over the rounds.
        lower: The lower quartile.
        upper: The upper quartile.
    """

    median: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Measured:
    """The result of a measurement.

    Attributes:
        ratios: The ratio of each variant, MHA first.
        rounds: The number of rounds.
        threads: The number of threads.
    """

    ratios: tuple[Ratio, ...]
    rounds: int
    threads: int


def measure(
    sizes: Sizes, kv_heads: Sequence[int | None], *, seconds: float, clock: Callable[[], float]
) -> Measured:
    """Time a decode step of each variant.

    Args:
        sizes: The sizes of the layers.
        kv_heads: The number of KV heads of each variant, MHA first. None is MLA.
        seconds: The approximate time of the whole measurement.
        clock: Returns the current time in seconds.
    """
    generator = torch.Generator().manual_seed(0)
    with torch.inference_mode():
        token = noise((sizes.batch, sizes.d_model), 1.0, sizes.dtype, generator)
        steps: list[Callable[[], Tensor]] = []
        for num_kv_heads in kv_heads:
            if num_kv_heads is None:
                steps.append(functools.partial(latent_step, latent_layer(sizes, generator), token))
            else:
                steps.append(
                    functools.partial(
                        grouped_step, grouped_layer(sizes, num_kv_heads, generator), token
                    )
                )
        ratios, rounds = side_by_side(steps, seconds=seconds, clock=clock)
    return Measured(tuple(ratios), rounds, torch.get_num_threads())


def side_by_side(
    steps: Sequence[Callable[[], object]], *, seconds: float, clock: Callable[[], float]
) -> tuple[list[Ratio], int]:
    """Return the time of every step relative to the first step, and the number of rounds.

    Each round runs every step once, so that other load on the machine affects all steps equally.

    Args:
        steps: The steps.
        seconds: The approximate time of all rounds. There are at least 9 rounds.
        clock: Returns the current time in seconds.
    """
    started = clock()
    for step in (*steps, *steps):  # the first calls set up resources that later calls reuse
        step()
    round_seconds = (clock() - started) / 2
    rounds = min(_MOST_ROUNDS, max(_FEWEST_ROUNDS, int(seconds / max(round_seconds, 1e-9))))
    relative: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds):
        times: list[float] = []
        for step in steps:
            started = clock()
            step()
            times.append(clock() - started)
        for step_ratios, step_time in zip(relative, times, strict=True):
            step_ratios.append(step_time / times[0])
    quartiles = [
        statistics.quantiles(step_ratios, n=4, method="inclusive") for step_ratios in relative
    ]
    return [Ratio(median, lower, upper) for lower, median, upper in quartiles], rounds


def grouped_layer(sizes: Sizes, num_kv_heads: int, generator: torch.Generator) -> GroupedLayer:
    """Return random weights and a full cache of MHA, GQA or MQA."""
    width, kv_width = sizes.num_heads * sizes.head_dim, num_kv_heads * sizes.head_dim
    cache = (sizes.batch, num_kv_heads, sizes.seq_len, sizes.head_dim)
    return GroupedLayer(
        q_proj=_weight(width, sizes.d_model, sizes, generator),
        k_proj=_weight(kv_width, sizes.d_model, sizes, generator),
        v_proj=_weight(kv_width, sizes.d_model, sizes, generator),
        o_proj=_weight(sizes.d_model, width, sizes, generator),
        keys=noise(cache, 1.0, sizes.dtype, generator),
        values=noise(cache, 1.0, sizes.dtype, generator),
    )


def latent_layer(sizes: Sizes, generator: torch.Generator) -> LatentLayer:
    """Return random weights and a full cache of MLA."""
    width = sizes.num_heads * sizes.head_dim
    query_in = sizes.d_model if sizes.q_rank is None else sizes.q_rank
    return LatentLayer(
        q_down=None
        if sizes.q_rank is None
        else _weight(sizes.q_rank, sizes.d_model, sizes, generator),
        q_up=_weight(width, query_in, sizes, generator),
        q_rope=_weight(sizes.num_heads * sizes.rope_dim, query_in, sizes, generator),
        kv_down=_weight(sizes.kv_rank, sizes.d_model, sizes, generator),
        k_rope=_weight(sizes.rope_dim, sizes.d_model, sizes, generator),
        k_up=_weight(width, sizes.kv_rank, sizes, generator),
        v_up=_weight(width, sizes.kv_rank, sizes, generator),
        o_proj=_weight(sizes.d_model, width, sizes, generator),
        latents=noise((sizes.batch, sizes.seq_len, sizes.kv_rank), 1.0, sizes.dtype, generator),
        rotary_keys=noise(
            (sizes.batch, sizes.seq_len, sizes.rope_dim), 1.0, sizes.dtype, generator
        ),
        num_heads=sizes.num_heads,
    )


def grouped_step(layer: GroupedLayer, token: Tensor) -> Tensor:
    """Run one step of MHA, GQA or MQA: token [B, M] -> [B, M].

    Write the token's key and value into the last place of the cache. Group the queries by their
    key/value head, so that the cache need not be expanded: with H heads it would cost as much as
    MHA.
    """
    batch, num_kv_heads, _, head_dim = layer.keys.shape
    q = functional.linear(token, layer.q_proj)
    q = q.view(batch, num_kv_heads, -1, head_dim)  # [B, G, H / G, D]
    layer.keys[:, :, -1] = functional.linear(token, layer.k_proj).view(
        batch, num_kv_heads, head_dim
    )
    layer.values[:, :, -1] = functional.linear(token, layer.v_proj).view(
        batch, num_kv_heads, head_dim
    )
    scores = q @ layer.keys.transpose(-2, -1) / math.sqrt(head_dim)  # [B, G, H / G, S]
    heads = torch.softmax(scores, dim=-1) @ layer.values  # [B, G, H / G, D]
    return functional.linear(heads.reshape(batch, -1), layer.o_proj)


def latent_step(layer: LatentLayer, token: Tensor) -> Tensor:
    """Run one absorbed step of MLA: token [B, M] -> [B, M].

    Write the token's latent and rotary key into the last place of the cache. Apply W_UK to the
    query and W_UV to the weighted latents, so that no key or value of a head is ever computed
    (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.2).
    """
    batch, num_heads, kv_rank = token.shape[0], layer.num_heads, layer.kv_down.shape[0]
    k_up = layer.k_up.view(num_heads, -1, kv_rank)  # [H, D, R]
    v_up = layer.v_up.view(num_heads, -1, kv_rank)  # [H, D, R]
    head_dim, rope_dim = k_up.shape[1], layer.k_rope.shape[0]
    c_q = token if layer.q_down is None else functional.linear(token, layer.q_down)  # [B, Rq or M]
    q_nope = functional.linear(c_q, layer.q_up).view(batch, num_heads, head_dim)
    q_rope = functional.linear(c_q, layer.q_rope).view(batch, num_heads, rope_dim)
    layer.latents[:, -1] = functional.linear(token, layer.kv_down)
    layer.rotary_keys[:, -1] = functional.linear(token, layer.k_rope)
    q_latent = torch.einsum("bhd,hdr->bhr", q_nope, k_up)  # [B, H, R]
    scores = q_latent @ layer.latents.transpose(-2, -1) + q_rope @ layer.rotary_keys.transpose(
        -2, -1
    )  # [B, H, S]
    weights = torch.softmax(scores / math.sqrt(head_dim + rope_dim), dim=-1)  # [B, H, S]
    latent = weights @ layer.latents  # [B, H, R]
    heads = torch.einsum("bhr,hdr->bhd", latent, v_up)  # [B, H, D]
    return functional.linear(heads.reshape(batch, -1), layer.o_proj)


def noise(shape: tuple[int, ...], scale: float, dtype: str, generator: torch.Generator) -> Tensor:
    """Return a tensor of normally distributed random numbers.

    Only the first 2**20 - 3 numbers of a large tensor are drawn and then repeated, because drawing
    gigabytes would take long.

    Args:
        shape: The shape.
        scale: The standard deviation.
        dtype: torch's name of the dtype.
        generator: The random number generator.
    """
    count = math.prod(shape)
    drawn = (
        torch.randn(min(count, (1 << 20) - 3), generator=generator)
        .mul_(scale)
        .to(getattr(torch, dtype))
    )
    if count > len(drawn):
        drawn = drawn.repeat(-(-count // len(drawn)))[:count]
    return drawn.view(shape)


def _weight(rows: int, columns: int, sizes: Sizes, generator: torch.Generator) -> Tensor:
    return noise((rows, columns), columns**-0.5, sizes.dtype, generator)
