"""The counters report the operations, lines, values, multiply-adds and memory of a call."""

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import torch
import torch.utils.checkpoint
from torch.utils import _python_dispatch as modes

from trainer.worker.counters import (
    Counter,
    count_in_threads,
    counted_by,
    guard,
    observe,
    observe_memory,
    tensors_in,
)
from trainer.worker.protocol import Counts


def test_operations_grow_with_size_only_in_a_loop() -> None:
    """A loop dispatches more operations at a larger size. A batched product does not."""
    counts = []
    for heads in (2, 8):
        x = torch.randn(heads, 3, 3)
        loop = counted(
            lambda x=x, heads=heads: torch.stack([x[head] @ x[head] for head in range(heads)])
        )
        batched = counted(lambda x=x: x @ x)
        counts.append((loop.operations, batched.operations))
    assert counts[1][0] > counts[0][0] + 6
    assert counts[1][1] == counts[0][1]


def counted(call: Callable[[], object]) -> Counts:
    """Return the counts of a call, with all counters."""
    return observe(call)[1]


@pytest.mark.parametrize(
    "name", ["tensor_split", "chunk", "split", "unbind", "hsplit", "vsplit", "dsplit"]
)
def test_split_functions_count_as_one_operation(name: str) -> None:
    """Torch's functions that split a tensor count as one operation. A loop of views counts more."""
    x = torch.randn(12, 12, 12)
    arguments = {"tensor_split": (12, 1), "chunk": (12, 1), "split": (1, 1), "unbind": (1,)}.get(
        name, (12,)
    )
    for split in (getattr(torch, name), lambda tensor, *rest: getattr(tensor, name)(*rest)):
        whole, parts = observe(lambda split=split: split(x, *arguments))[::-1]
        loop = counted(lambda: [x[:, place] for place in range(12)])
        assert len(parts) == 12
        assert whole.operations == 1
        assert loop.operations >= 12


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_honest_calls_of_all_kinds_show_no_tampering() -> None:
    """Gradients, autograd functions, vmap, scripts, checkpoints and threads are accepted."""
    x = torch.randn(4, 3, requires_grad=True)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(context, given):
            return given * 2

        @staticmethod
        def backward(context, gradient):
            return gradient * 2

    def in_a_thread() -> None:
        thread = threading.Thread(target=lambda: x.detach() @ x.detach().T)
        thread.start()
        thread.join()

    scripted = torch.jit.script(_scripted)
    calls = [
        lambda: (x @ x.T).softmax(-1).exp().sum().backward(),
        lambda: Twice.apply(x),
        lambda: torch.vmap(lambda row: row * 2)(x),
        lambda: scripted(x),
        lambda: torch.utils.checkpoint.checkpoint(
            lambda given: given.exp(), x, use_reentrant=False
        ),
        lambda: torch.tensor([1, 2]) + 1,
        lambda: [float(row.sum()) for row in x.detach()],
        in_a_thread,
    ]
    assert [counted(call).tampered for call in calls] == [""] * len(calls)


def _scripted(x: torch.Tensor) -> torch.Tensor:
    for _ in range(3):
        x = x * 2
    return x


@pytest.mark.parametrize("size", [3, 30])
def test_lines_of_python_are_counted(size: int) -> None:
    """Loops, comprehensions and generators run at least one line for each plain number."""

    def loop() -> None:
        total = 0.0
        for scalar in range(size):
            total += scalar

    for call in (
        loop,
        lambda: [scalar * 2 for scalar in range(size)],
        lambda: sum(scalar for scalar in range(size)),
    ):
        assert size <= counted(call).lines <= 4 * size + 12
    assert counted(lambda: torch.ones(size).sum()).lines <= 4


def test_handlers_of_timers_are_not_counted() -> None:
    """A timer may run its handler at any time, so its lines would differ from call to call."""
    handled: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: handled.append(number))
    try:
        quiet = counted(lambda: time.sleep(0.02)).lines
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        time.sleep(0.005)
        assert handled
        assert counted(lambda: time.sleep(0.02)).lines == quiet
        handled.clear()
        time.sleep(0.005)
        assert handled, "the handler works again after the count"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_lines_compiled_under_a_library_name_are_counted() -> None:
    """Code of the learner's is counted even if it is compiled under the name of a file of torch."""
    guard()
    names: dict[str, Callable[[], None]] = {}
    exec(
        compile(
            "def loop():\n    for number in range(50):\n        number\n", torch.__file__, "exec"
        ),
        names,
    )
    moved = names["loop"].__code__.replace(co_filename=torch.nn.__file__)
    for code in (names["loop"].__code__, moved):
        names["loop"].__code__ = code
        assert counted(names["loop"]).lines >= 50


@pytest.mark.parametrize(
    "leave",
    [torch.Tensor.tolist, torch.Tensor.numpy, numpy.asarray, lambda x: numpy.from_dlpack(x)],
    ids=["tolist", "numpy", "asarray", "dlpack"],
)
def test_values_that_leave_torch_are_counted(leave: Callable[[torch.Tensor], object]) -> None:
    """Each function that returns a tensor as plain data counts the tensor's entries."""
    assert counted(lambda: leave(torch.ones(4, 5))).left_torch == 20


def test_tampering_is_reported(threads_counted: None) -> None:
    """A counter that is switched off or replaced in the call is named, and works again after."""
    x = torch.ones(3)

    def without_profiler() -> None:
        torch._C._autograd._disable_profiler()

    def without_records() -> None:
        torch._C._autograd._enable_record_function(False)
        [x * 2 for _ in range(9)]
        torch._C._autograd._enable_record_function(True)

    def without_tracing() -> None:
        sys.settrace(None)

    def restored_tracing() -> None:
        before = sys.gettrace()
        sys.settrace(None)
        sys.settrace(before)

    guard()
    assert "torch's profiler" in counted(without_profiler).tampered
    assert "torch's profiler" in counted(without_records).tampered
    assert "counts lines was replaced" in counted(without_tracing).tampered
    assert "counts lines was replaced" in counted(restored_tracing).tampered
    assert counted(lambda: x * 2) == Counts(operations=1, lines=2)


def test_operations_without_dispatch_modes_are_counted() -> None:
    """The profiler counts operations that no dispatch mode sees, if these operations compute."""
    x = torch.ones(3)

    def hidden() -> None:
        with modes._disable_current_modes():
            for _ in range(9):
                x * 2

    assert counted(hidden).operations == 9


@pytest.mark.parametrize(
    ("call", "products"),
    [
        pytest.param(
            lambda a, b: (a[:, :, None] * b.T[None].transpose(1, 2)).sum(1),
            3 * 5 * 7,
            id="mul and sum",
        ),
        pytest.param(
            lambda a, b: torch.conv1d(a[None].mT, b.T[:, :, None])[0].T, 3 * 5 * 7, id="conv1d"
        ),
        pytest.param(
            lambda a, b: torch.bilinear(a, torch.ones(3, 1), b.T[:, :, None].contiguous()),
            3 * 5 * 7,
            id="bilinear",
        ),
        pytest.param(lambda a, b: torch.einsum("ij,jk->ik", a, b), 3 * 5 * 7, id="einsum"),
        pytest.param(
            lambda a, b: torch.zeros(3, 5, 7).addcmul(a[:, :, None], b[None]).sum(1),
            3 * 5 * 7,
            id="addcmul",
        ),
        pytest.param(
            lambda a, b: torch.stack(
                [torch.outer(column, row) for column, row in zip(a.T, b, strict=True)]
            ).sum(0),
            3 * 5 * 7,
            id="outer",
        ),
        pytest.param(lambda a, b: torch.tensordot(a, b, 1), 3 * 5 * 7, id="tensordot"),
        pytest.param(
            lambda a, b: (a[:, :, None] / b.reciprocal()[None]).sum(1), 3 * 5 * 7, id="division"
        ),
    ],
)
def test_matrix_products_are_counted_in_all_forms(call, products: int) -> None:
    """The counters count two or more flops for each multiply-add of a matrix product."""
    a, b = torch.randn(3, 5), torch.randn(5, 7)
    assert call(a, b).shape == (3, 7)
    assert 2 * products <= counted(lambda: call(a, b)).flops <= 6 * products


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: x * 0.5, id="a plain scalar"),
        pytest.param(lambda x: x * torch.tensor(0.5), id="a scalar tensor"),
        pytest.param(lambda x: torch.cat([x, x]), id="cat"),
        pytest.param(lambda x: x.masked_fill(x > 0, 0.0), id="masked_fill"),
        pytest.param(lambda x: torch.where(x > 0, x, -x), id="where"),
        pytest.param(lambda x: x + x, id="add"),
        pytest.param(lambda x: x.softmax(-1), id="softmax"),
    ],
)
def test_operations_without_products_count_no_flops(call) -> None:
    """Operations that move, choose or add entries are not products."""
    assert counted(lambda: call(torch.randn(4, 5))).flops == 0


def test_bytes_alive_at_once_are_counted() -> None:
    """Tensors that are kept count together. Tensors that are freed in between do not."""

    def kept() -> list[torch.Tensor]:
        return [torch.ones(1000) for _ in range(5)]

    def in_turn() -> None:
        for _ in range(5):
            torch.ones(1000)

    assert 20_000 <= observe_memory(kept)[1].alive < 25_000
    assert 4_000 <= observe_memory(in_turn)[1].alive < 9_000
    assert "torch's profiler" in observe_memory(torch._C._autograd._disable_profiler)[1].tampered


def test_largest_skips_views() -> None:
    """An expanded view needs no memory. A copy of the view does."""
    x = torch.randn(4, 1)
    with Counter() as views:
        x.expand(4, 100).transpose(0, 1)
    with Counter() as copy:
        x.expand(4, 100).contiguous()
    assert views.largest == 0
    assert copy.largest == 400


def test_products_count_two_flops_for_each_multiply_add() -> None:
    """The count is exact for matmul, linear with bias, bmm and einsum."""
    a, b = torch.randn(3, 5), torch.randn(5, 7)
    calls = [
        lambda: a @ b,
        lambda: torch.nn.functional.linear(a, b.T.contiguous(), torch.zeros(7)),
        lambda: torch.einsum("bij,bjk->bik", torch.ones(2, 3, 5), torch.ones(2, 5, 7)),
        lambda: a @ b[:, 0],
    ]
    assert [counted(call).flops for call in calls] == [210, 210, 420, 30]


def test_largest_counts_an_argument_that_grows() -> None:
    """Memory that an operation adds to a given tensor counts as new."""
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
    """Count in threads, as in the worker, and undo it after the test."""
    for module, names in (
        (_thread, ("start_new_thread", "start_new", "start_joinable_thread")),
        (threading, ("_start_new_thread", "_start_joinable_thread")),
    ):
        for name in names:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name))
    count_in_threads()


class _OwnThread(threading.Thread):
    """A thread that does its work in `run`."""

    def run(self) -> None:
        A @ A.T


A = torch.randn(30, 2)


def _in_a_raw_thread() -> None:
    done = threading.Event()
    _thread.start_new_thread(lambda: (A @ A.T, done.set()), ())
    done.wait()


def _in_a_thread_subclass() -> None:
    thread = _OwnThread()
    thread.start()
    thread.join()


def _in_a_pool() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: A @ A.T).result()


@pytest.mark.parametrize("work", [_in_a_pool, _in_a_raw_thread, _in_a_thread_subclass])
@pytest.mark.usefixtures("threads_counted")
def test_operations_in_other_threads_are_counted(work) -> None:
    """Operations are counted in threads of all kinds, and only while the counter is active."""
    counter = Counter()
    with counted_by(counter):
        work()
    assert counter.largest == 900
    before = counter.operations
    work()
    assert counter.operations == before


@pytest.mark.usefixtures("threads_counted")
def test_thread_that_started_earlier_is_counted() -> None:
    """A thread of a pool may start before the counter is active and wait for work."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: A + 1).result()
        counter = Counter()
        with counted_by(counter):
            pool.submit(lambda: A @ A.T).result()
        pool.submit(lambda: A @ A.T).result()
    assert counter.largest == 900


def test_tensors_are_found_in_a_list_that_contains_itself() -> None:
    """The search finds nested tensors in order, and ends for a list that contains itself."""
    first, second, third = torch.ones(1), torch.ones(2), torch.ones(3)
    circle: list[object] = [first, {"a": second, "b": (third,)}]
    circle.append(circle)
    assert [tensor.numel() for tensor in tensors_in(circle)] == [1, 2, 3]
