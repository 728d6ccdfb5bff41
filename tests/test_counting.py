"""Operations, largest fresh tensor and multiply-adds are what was dispatched."""

import _thread
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from trainer.running.counting import Counter, count_in_threads, counted_by, tensors_in


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


@pytest.mark.parametrize("name", ["tensor_split", "chunk", "split", "unbind", "hsplit", "vsplit", "dsplit"])
def test_taking_apart_is_one_operation(name: str) -> None:
    """Torch's own ways to take a tensor apart are no loops, however torch does them; the same views one by one are."""
    x = torch.randn(12, 12, 12)
    given = {"tensor_split": (12, 1), "chunk": (12, 1), "split": (1, 1), "unbind": (1,)}.get(name, (12,))
    for split in (getattr(torch, name), lambda tensor, *rest: getattr(tensor, name)(*rest)):
        counter, views = Counter(), Counter()
        with counted_by(counter):
            parts = split(x, *given)
        with counted_by(views):
            one_by_one = [x[:, place] for place in range(12)]
        assert len(parts) == len(one_by_one) == 12
        assert counter.operations == 1
        assert views.operations >= 12


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


@pytest.fixture
def threads_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the worker; undone after the test."""
    for module, names in ((_thread, ("start_new_thread", "start_new", "start_joinable_thread")), (threading, ("_start_new_thread", "_start_joinable_thread"))):
        for name in names:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name))
    count_in_threads()


class _Own(threading.Thread):
    """A thread whose work stands in `run`."""

    def run(self) -> None:
        A @ A.T


A = torch.randn(30, 2)


def _in_a_raw_thread() -> None:
    done = threading.Event()
    _thread.start_new_thread(lambda: (A @ A.T, done.set()), ())
    done.wait()


def _in_a_thread_of_its_own_class() -> None:
    thread = _Own()
    thread.start()
    thread.join()


def _in_a_pool() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: A @ A.T).result()


@pytest.mark.parametrize("work", [_in_a_pool, _in_a_raw_thread, _in_a_thread_of_its_own_class])
@pytest.mark.usefixtures("threads_counted")
def test_threads_are_counted_too(work) -> None:
    """By whatever name they are started."""
    counter = Counter()
    with counted_by(counter):
        work()
    assert (counter.largest, counter.flops) == (900, 2 * 30 * 30 * 2)
    before = counter.operations
    work()
    assert counter.operations == before


@pytest.mark.usefixtures("threads_counted")
def test_a_thread_from_before_is_counted() -> None:
    """One that waits for work, started long before anything is counted."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: A + 1).result()
        counter = Counter()
        with counted_by(counter):
            pool.submit(lambda: A @ A.T).result()
        pool.submit(lambda: A @ A.T).result()
    assert counter.flops == 2 * 30 * 30 * 2


def test_tensors_are_found_in_what_holds_itself() -> None:
    """In order, however nested; a list that holds itself comes to an end."""
    one, two, three = torch.ones(1), torch.ones(2), torch.ones(3)
    circle: list[object] = [one, {"a": two, "b": (three,)}]
    circle.append(circle)
    assert [tensor.numel() for tensor in tensors_in(circle)] == [1, 2, 3]
