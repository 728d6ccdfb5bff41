"""The cost of a call: what grows with a loop, and what a vectorised answer costs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attn_drill.grading._checks_run import LOOP_GROWTH
from attn_drill.worker._observers import Meter, flops_of, measured, tensors_in
from attn_drill.worker.protocol import RunCost

Heads = torch.Tensor  # [batch, heads, positions, head_dim]


def cost_of(call: Callable[[], object]) -> RunCost:
    """Return the cost of a call of this file."""
    return measured(call, __file__)[1]


def growth(attention: Callable[[Heads], object], **larger: int) -> RunCost:
    """Return how much each count grows from a small input to one with larger sizes."""
    small = {"batch": 2, "heads": 3, "positions": 4}
    few, many = (
        cost_of(lambda sizes=sizes: attention(torch.randn(*sizes.values(), 8)))
        for sizes in (small, small | larger)
    )
    return RunCost(
        **{
            name: max(0, getattr(many, name) - getattr(few, name))
            for name in ("operations", "lines", "left", "entered")
        }
    )


LETTERS = [{"batch": 7}, {"heads": 8}, {"positions": 9}]


def attended(q: Heads) -> Heads:
    """Return causal attention of the queries to themselves."""
    scores = q @ q.mT / q.shape[-1] ** 0.5
    mask = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).tril()
    return torch.softmax(scores.masked_fill(~mask, -math.inf), -1) @ q


def by_einsum(q: Heads) -> Heads:
    """Return attention by einsum, with the heads merged and split again."""
    merged = q.transpose(1, 2).flatten(-2)
    q = merged.unflatten(-1, (q.shape[1], q.shape[3])).transpose(1, 2)
    weights = torch.einsum("bhqd,bhkd->bhqk", q, q).softmax(-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, q)


def mapped(q: Heads) -> Heads:
    """Return attention by vmap over batch and heads."""
    return torch.vmap(torch.vmap(lambda head: (head @ head.mT).softmax(-1) @ head))(q)


def with_a_word_about_shapes(q: Heads) -> Heads:
    """Return attention; read a length and print a sum, which computes nothing outside torch."""
    assert int(torch.tensor(q.shape[1]).item()) == q.shape[1]
    return q * (q.detach().sum() > 0)


def with_a_table_of_numpy(q: Heads) -> Heads:
    """Return positions of a table by numpy, whose entries come from outside and never go back."""
    table = torch.from_numpy(np.tril(np.ones((q.shape[2], q.shape[2]), np.float32)))
    return table @ q


@pytest.mark.parametrize("larger", LETTERS, ids=lambda larger: next(iter(larger)))
@pytest.mark.parametrize(
    "attention",
    [attended, by_einsum, mapped, with_a_word_about_shapes, with_a_table_of_numpy],
    ids=lambda attention: attention.__name__,
)
def test_vectorised_code_shows_no_growth(
    attention: Callable[[Heads], Heads], larger: dict[str, int]
) -> None:
    """Operations and lines stay the same, and not both ways of moved entries grow."""
    attention(torch.randn(1, 1, 1, 8))  # the first call of a function imports
    found = growth(attention, **larger)
    assert found.operations < LOOP_GROWTH
    assert found.lines < LOOP_GROWTH
    assert min(found.left, found.entered) < LOOP_GROWTH


def over_batch(q: Heads) -> Heads:
    """Loop over the batch."""
    return torch.stack([attended(sequence[None])[0] for sequence in q])


def over_heads(q: Heads) -> Heads:
    """Loop over the heads, which are views of one tensor."""
    heads = []
    for head in q.unbind(1):
        heads.append(head @ head.mT)
    return torch.stack(heads, 1)


def over_positions(q: Heads) -> Heads:
    """Loop over the queries and write into the result."""
    out = torch.empty_like(q)
    for i in range(q.shape[2]):
        out[:, :, i] = (q[:, :, i, None] * q[:, :, : i + 1]).sum(2)
    return out


def over_keys(q: Heads) -> Heads:
    """Loop over the keys with one product each."""
    total = torch.zeros(())
    for j in range(q.shape[2]):
        total = total + q[:, :, j : j + 1] * q
    return total


def mask_entry_by_entry(q: Heads) -> Heads:
    """Write a mask entry by entry."""
    mask = torch.zeros(q.shape[2], q.shape[2])
    for i in range(q.shape[2]):
        mask[i, : i + 1] = 1.0
    return mask @ q


@pytest.mark.parametrize(
    ("attention", "larger"),
    [
        (over_batch, {"batch": 7}),
        (over_heads, {"heads": 8}),
        (over_positions, {"positions": 9}),
        (over_keys, {"positions": 9}),
        (mask_entry_by_entry, {"positions": 9}),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_a_loop_shows_in_the_operations(
    attention: Callable[[Heads], Heads], larger: dict[str, int]
) -> None:
    """Each step of a loop makes an operation, and the other sizes do not add any."""
    assert growth(attention, **larger).operations >= LOOP_GROWTH
    for other in LETTERS:
        if other.keys() != larger.keys():
            assert growth(attention, **other).operations < LOOP_GROWTH


def views_only(q: Heads) -> Heads:
    """Index one head after another; each is a view."""
    heads = [q[:, h] for h in range(q.shape[1])]
    return torch.cat(heads)


def test_views_count_as_operations() -> None:
    """A loop that only makes views, for example of a table, is a loop too."""
    assert growth(views_only, heads=8).operations >= LOOP_GROWTH


def by_lists(q: Heads) -> Heads:
    """Compute with nested lists of Python, on one line."""
    rows = q.tolist()
    return torch.tensor([[[[2 * x for x in row] for row in head] for head in b] for b in rows])


def by_numpy(q: Heads) -> Heads:
    """Compute with numpy and come back by from_numpy."""
    return torch.from_numpy(q.numpy() * 2)


def by_numpy_asarray(q: Heads) -> Heads:
    """Compute with numpy and come back by torch.tensor."""
    return torch.tensor(np.asarray(q) * 2)


def by_numpy_einsum(q: Heads) -> Heads:
    """Give tensors to functions of numpy."""
    return torch.as_tensor(np.einsum("bhqd,bhkd->bhqk", q.numpy(), q.detach().numpy()))


def by_items(q: Heads) -> Heads:
    """Take entries one by one."""
    flat = q.flatten()
    return torch.tensor([float(flat[i]) for i in range(len(flat))])


@pytest.mark.parametrize("larger", LETTERS, ids=lambda larger: next(iter(larger)))
@pytest.mark.parametrize(
    "attention",
    [by_lists, by_numpy, by_numpy_asarray, by_numpy_einsum, by_items],
    ids=lambda attention: attention.__name__,
)
def test_work_outside_torch_shows_in_the_moved_entries(
    attention: Callable[[Heads], Heads], larger: dict[str, int]
) -> None:
    """The entries that leave torch and those that come back grow with every size."""
    found = growth(attention, **larger)
    assert min(found.left, found.entered) >= LOOP_GROWTH


def lines_of_python(q: Heads) -> Heads:
    """Compute a list of slopes in a loop of several lines; the tensor comes from outside only."""
    slopes = []
    for h in range(q.shape[1]):
        slope = 2.0 ** (-8 * (h + 1) / q.shape[1])
        slopes.append(slope)
    return q * torch.tensor(slopes)[:, None, None]


def comprehension_of_calls(q: Heads) -> Heads:
    """Call a function for each position, on one line."""

    def twice(i: int) -> int:
        return 2 * i

    return q * torch.tensor([twice(i) for i in range(q.shape[2])])[:, None]


def lambda_in_map(q: Heads) -> Heads:
    """Call a lambda for each position, on one line."""
    return q * torch.tensor(list(map(lambda i: 2 * i, range(q.shape[2]))))[:, None]  # noqa: C417


@pytest.mark.parametrize(
    ("attention", "larger"),
    [
        (lines_of_python, {"heads": 8}),
        (comprehension_of_calls, {"positions": 9}),
        (lambda_in_map, {"positions": 9}),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_a_loop_of_python_shows_in_the_lines(
    attention: Callable[[Heads], Heads], larger: dict[str, int]
) -> None:
    """Lines of the file count, and so do calls of its functions on one line."""
    found = growth(attention, **larger)
    assert found.lines >= LOOP_GROWTH
    assert found.operations < LOOP_GROWTH


def test_lines_of_other_files_do_not_count() -> None:
    """torch prints a larger tensor with more lines of its own Python code."""
    short, long = (cost_of(lambda n=n: str(torch.ones(n, 3))) for n in (2, 9))
    assert short.lines == long.lines


def largest(call: Callable[[], Any]) -> int:
    """Return the entries of the largest tensor that a call makes."""
    return cost_of(call).largest


X = torch.ones(4, 6)


@pytest.mark.parametrize(
    ("call", "entries"),
    [
        pytest.param(lambda: X + 1, 24, id="a result"),
        pytest.param(lambda: X.expand(100, 4, 6), 0, id="an expanded view"),
        pytest.param(lambda: X.view(2, 12).T[None].unfold(1, 2, 1), 0, id="views"),
        pytest.param(lambda: X.expand(100, 4, 6) + 1, 2400, id="an expanded view that is read"),
        pytest.param(lambda: X.expand(100, 4, 6).contiguous(), 2400, id="contiguous"),
        pytest.param(lambda: torch.empty(7, 9), 63, id="a new tensor"),
        pytest.param(lambda: torch.zeros(0).resize_(50, 50), 2500, id="resize_"),
        pytest.param(lambda: torch.add(X, 1, out=torch.empty(0)), 24, id="out="),
        pytest.param(lambda: X @ torch.ones(6, 9), 54, id="a product"),
        pytest.param(lambda: torch.ones(5, 7, dtype=torch.bfloat16) * 2, 35, id="bfloat16"),
        pytest.param(lambda: torch.ones(5, 7, dtype=torch.bool) & True, 35, id="bool"),
        pytest.param(lambda: torch.split(X + 1, 2), 24, id="parts of a result"),
        pytest.param(lambda: X.clone().add_(1).mul_(2), 24, id="in place"),
        pytest.param(lambda: torch.vmap(lambda row: torch.outer(row, row))(X), 144, id="vmap"),
        pytest.param(lambda: torch.einsum("ij,kl->ijkl", X, X), 576, id="einsum"),
        pytest.param(lambda: None, 0, id="nothing"),
    ],
)
def test_the_largest_tensor_is_the_largest_memory_that_was_made(
    call: Callable[[], Any], entries: int
) -> None:
    """Views do not count; a tensor that an operation enlarges does."""
    assert largest(call) == entries


def products(call: Callable[[], Any]) -> tuple[int, int]:
    """Return the floating-point operations in products of matrices, and in all products."""
    cost = cost_of(call)
    return cost.matrix_flops, cost.flops


Q, K = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8)
SCORES = 2 * 2 * 3 * 4 * 5 * 8  # a multiply-add for each entry of the scores and of head_dim


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: Q @ K.mT, id="@"),
        pytest.param(lambda: torch.matmul(Q, K.transpose(-2, -1)), id="matmul"),
        pytest.param(lambda: torch.einsum("bhqd,bhkd->bhqk", Q, K), id="einsum"),
        pytest.param(lambda: torch.bmm(Q.flatten(0, 1), K.flatten(0, 1).mT), id="bmm"),
        pytest.param(
            lambda: torch.baddbmm(torch.zeros(()), Q.flatten(0, 1), K.flatten(0, 1).mT),
            id="baddbmm",
        ),
        pytest.param(
            lambda: torch.stack([*map(torch.mm, Q.flatten(0, 1), K.flatten(0, 1).mT)]),
            id="one head after another",
        ),
        pytest.param(lambda: torch.vmap(torch.vmap(lambda q, k: q @ k.T))(Q, K), id="vmap"),
        pytest.param(lambda: torch.tensordot(Q[0, 0], K, ([1], [3])), id="tensordot"),
    ],
)
def test_products_of_matrices_count_each_multiply_add(call: Callable[[], Any]) -> None:
    """The count does not depend on how the product is written."""
    assert products(call) == (SCORES, SCORES)


def test_linear_layers_are_products() -> None:
    """The bias is added in the same operation and takes no multiplication."""
    weight, bias = torch.randn(16, 8), torch.randn(16)
    expected = 2 * Q.numel() * 16
    assert products(lambda: F.linear(Q, weight)) == (expected, expected)
    assert products(lambda: F.linear(Q, weight, bias)) == (expected, expected)
    assert products(lambda: torch.mv(weight, Q[0, 0, 0])) == (256, 256)
    assert products(lambda: torch.dot(bias, bias)) == (32, 32)


def test_products_of_entries_count_but_not_as_matrices() -> None:
    """(q * k).sum(-1) is a product of matrices that a learner writes by hand."""
    by_hand = lambda: (Q[..., None, :] * K[..., None, :, :]).sum(-1)  # noqa: E731
    assert products(by_hand) == (0, SCORES)
    assert products(lambda: Q.square().sum(-1)) == (0, 2 * Q.numel())
    assert products(lambda: Q**2) == (0, 2 * Q.numel())
    assert products(lambda: Q * 0.5) == (0, 0), "a factor for all entries is no product"
    assert products(lambda: Q / torch.tensor(8.0)) == (0, 0)
    assert products(lambda: Q + K[..., :4, :]) == (0, 0)


def test_peak_is_what_was_alive_at_once() -> None:
    """Memory that was freed does not count, nor do the inputs."""
    kibibyte = torch.zeros(256)

    def one_after_another() -> None:
        for _ in range(10):
            kibibyte + 1

    def all_at_once() -> list[torch.Tensor]:
        return [kibibyte + 1 for _ in range(10)]

    def views() -> list[torch.Tensor]:
        made = kibibyte + 1
        return [made.view(16, 16), made[:5], made.expand(9, 256)]

    assert cost_of(one_after_another).peak_bytes in (1024, 2048)  # the last result lives on
    assert cost_of(all_at_once).peak_bytes == 10 * 1024
    assert cost_of(views).peak_bytes == 1024
    assert cost_of(lambda: kibibyte.sum() * 0).peak_bytes <= 8


def test_an_exception_is_passed_on_and_the_tracer_stays() -> None:
    """After the exception, nothing is counted any more, and the tracer is as before."""
    before = sys.gettrace()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        measured(fail, __file__)
    assert sys.gettrace() is before
    with Meter() as meter:
        pass
    X + 1
    assert meter.operations == 0


def test_a_tensor_of_another_layout_is_no_memory() -> None:
    """Sparse tensors and lists that contain themselves do not stop the count."""
    round_list: list[object] = [X]
    round_list.append(round_list)
    assert tensors_in(round_list) == [X]
    assert cost_of(lambda: torch.eye(3).to_sparse().to_dense()).largest == 9


@pytest.mark.parametrize(
    ("name", "shapes", "flops"),
    [
        ("mm", ((2, 3), (3, 5)), 60),
        ("mv", ((2, 3), (3,)), 12),
        ("bmm", ((4, 2, 3), (4, 3, 5)), 240),
        ("mul", ((2, 3), (2, 3)), 12),
        ("mul", ((2, 1), (3,)), 12),
        ("add", ((2, 3), (2, 3)), 0),
        ("exp", ((2, 3),), 0),
    ],
)
def test_flops_of_an_operation(name: str, shapes: tuple[tuple[int, ...], ...], flops: int) -> None:
    """A multiply-add counts as two."""
    assert flops_of(name, [torch.ones(shape) for shape in shapes]) == flops
