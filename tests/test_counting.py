"""Operations, largest fresh tensor and multiply-adds are what was dispatched."""

from concurrent.futures import ThreadPoolExecutor

import torch

from trainer.running.counting import Counter, counted_in_threads


def test_operations_grow_with_a_loop_and_not_without() -> None:
    """A loop dispatches more at a larger size; one batched product does not."""
    counts = []
    for heads in (2, 8):
        x = torch.randn(heads, 3, 3)
        with Counter() as loop:
            torch.stack([x[head] @ x[head] for head in range(heads)])
        with Counter() as batched:
            x @ x
        counts.append((loop.operations, batched.operations))
    assert counts[1][0] > counts[0][0] + 6
    assert counts[1][1] == counts[0][1]


def test_largest_skips_views() -> None:
    """An expanded view is no memory; a copy of it is."""
    x = torch.randn(4, 1)
    with Counter() as views:
        x.expand(4, 100).transpose(0, 1)
    with Counter() as copy:
        x.expand(4, 100).contiguous()
    assert views.largest == 0
    assert copy.largest == 400


def test_flops_of_products() -> None:
    """2 per multiply-add, in matmul, linear with bias, bmm and einsum alike."""
    a, b = torch.randn(3, 5), torch.randn(5, 7)
    with Counter() as matmul:
        a @ b
    with Counter() as linear:
        torch.nn.functional.linear(a, b.T.contiguous(), torch.zeros(7))
    with Counter() as batched:
        torch.einsum("bij,bjk->bik", torch.randn(2, 3, 5), torch.randn(2, 5, 7))
    assert (matmul.flops, linear.flops, batched.flops) == (210, 210, 420)


def test_largest_sees_an_argument_that_grows() -> None:
    """Memory that an operation adds to a tensor it was given is fresh."""
    a = torch.randn(30, 2)
    with Counter() as out:
        torch.matmul(a, a.T, out=a.new_empty(0))
    empty = a.new_empty(0)
    with Counter() as resized:
        empty.resize_(700)
    with Counter() as in_place:
        a.add_(1)
    assert (out.largest, resized.largest, in_place.largest) == (900, 700, 0)


def test_threads_are_counted_too() -> None:
    """Also those of a pool, which live on after their work is done."""
    a = torch.randn(30, 2)
    counter = Counter()
    with counted_in_threads(counter), ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: a @ a.T, range(3)))
    assert counter.largest == 900
    assert counter.operations >= 3
    assert counter.flops == 3 * 2 * 30 * 30 * 2
    before = counter.operations
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: a + 1).result()
    assert counter.operations == before
