"""Operations, largest fresh tensor and multiply-adds are what was dispatched."""

import _thread
import sys
import threading
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


def test_operations_grow_with_a_loop_and_not_without() -> None:
    """A loop dispatches more at a larger size; one batched product does not."""
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
    """Return what a call does, with everything counted."""
    return observe(call)[1]


@pytest.mark.parametrize(
    "name", ["tensor_split", "chunk", "split", "unbind", "hsplit", "vsplit", "dsplit"]
)
def test_taking_apart_is_one_operation(name: str) -> None:
    """Torch's own ways to take a tensor apart are no loops, however torch does them; the same views one by one are."""
    x = torch.randn(12, 12, 12)
    given = {"tensor_split": (12, 1), "chunk": (12, 1), "split": (1, 1), "unbind": (1,)}.get(
        name, (12,)
    )
    for split in (getattr(torch, name), lambda tensor, *rest: getattr(tensor, name)(*rest)):
        whole, parts = observe(lambda split=split: split(x, *given))[::-1]
        one_by_one = counted(lambda: [x[:, place] for place in range(12)])
        assert len(parts) == 12
        assert whole.operations == 1
        assert one_by_one.operations >= 12


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_both_witnesses_agree_on_all_kinds_of_calls() -> None:
    """Gradients, autograd functions, vmap, scripts, checkpoints and threads: none looks like tampering."""
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
    """Loops, comprehensions and generators over plain numbers run a line or more for each."""

    def loop() -> None:
        total = 0.0
        for number in range(size):
            total += number

    for call in (
        loop,
        lambda: [number * 2 for number in range(size)],
        lambda: sum(number for number in range(size)),
    ):
        assert size <= counted(call).lines <= 4 * size + 12
    assert counted(lambda: torch.ones(size).sum()).lines <= 4


def test_lines_under_a_library_s_name_are_counted() -> None:
    """Code that is compiled under the name of one of torch's files is the learner's all the same."""
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
    """Every way to see a tensor as plain data tells how many entries are seen."""
    assert counted(lambda: leave(torch.ones(4, 5))).left == 20


def test_tampering_is_told(threads_counted: None) -> None:
    """Each counter that is switched off or replaced during the call is told of, and nothing is left switched off."""
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
    """The profiler sees what a dispatch mode does not, and only operations that compute."""
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
def test_products_are_counted_however_they_are_written(call, products: int) -> None:
    """At least two floating-point operations are counted for each multiply-add of a matrix product."""
    a, b = torch.randn(3, 5), torch.randn(5, 7)
    assert call(a, b).shape == (3, 7)
    assert 2 * products <= counted(lambda: call(a, b)).flops <= 6 * products


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: x * 0.5, id="a plain number"),
        pytest.param(lambda x: x * torch.tensor(0.5), id="a scalar tensor"),
        pytest.param(lambda x: torch.cat([x, x]), id="cat"),
        pytest.param(lambda x: x.masked_fill(x > 0, 0.0), id="masked_fill"),
        pytest.param(lambda x: torch.where(x > 0, x, -x), id="where"),
        pytest.param(lambda x: x + x, id="add"),
        pytest.param(lambda x: x.softmax(-1), id="softmax"),
    ],
)
def test_what_multiplies_nothing_costs_nothing(call) -> None:
    """Moving, choosing and adding entries is no product."""
    assert counted(lambda: call(torch.randn(4, 5))).flops == 0


def test_bytes_alive_at_once_are_counted() -> None:
    """What is kept counts together; what is given back before does not."""

    def kept() -> list[torch.Tensor]:
        return [torch.ones(1000) for _ in range(5)]

    def in_turn() -> None:
        for _ in range(5):
            torch.ones(1000)

    assert 20_000 <= observe_memory(kept)[1].alive < 25_000
    assert 4_000 <= observe_memory(in_turn)[1].alive < 9_000
    assert "torch's profiler" in observe_memory(torch._C._autograd._disable_profiler)[1].tampered


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
    calls = [
        lambda: a @ b,
        lambda: torch.nn.functional.linear(a, b.T.contiguous(), torch.zeros(7)),
        lambda: torch.einsum("bij,bjk->bik", torch.ones(2, 3, 5), torch.ones(2, 5, 7)),
        lambda: a @ b[:, 0],
    ]
    assert [counted(call).flops for call in calls] == [210, 210, 420, 30]


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
    for module, names in (
        (_thread, ("start_new_thread", "start_new", "start_joinable_thread")),
        (threading, ("_start_new_thread", "_start_joinable_thread")),
    ):
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
    assert counter.largest == 900
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
    assert counter.largest == 900


def test_tensors_are_found_in_what_holds_itself() -> None:
    """In order, however nested; a list that holds itself comes to an end."""
    one, two, three = torch.ones(1), torch.ones(2), torch.ones(3)
    circle: list[object] = [one, {"a": two, "b": (three,)}]
    circle.append(circle)
    assert [tensor.numel() for tensor in tensors_in(circle)] == [1, 2, 3]
