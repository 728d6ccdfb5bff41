"""What a worker does before it has a file: go once through what it will do, on a module of our own.

A forked process shares its memory with its parent until it writes to it, and Python writes to every object that it looks
at: the first pass through torch's code costs a fifth of a whole grading in copied pages. Done before the learner's file is
there, it costs nobody's time. What is made here is forgotten.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from trainer.worker.case_runner import CaseRunner, Hooks, KeptTensors
from trainer.worker.execution import Given, leaves
from trainer.worker.guarded_call import GuardedCall
from trainer.worker.protocol import Request, Run, fill

_WIDTH = 4
_SMALL = 1 << 16  # entries of all that goes into a case
_READY_BYTES = 16 << 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # <malloc.h>


class _Rehearsed(nn.Module):
    """Attention of one head: the layers and operations that most answers use."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(_WIDTH, _WIDTH) for _ in range(4)
        )
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            layer(x).view(1, -1, 2, 2).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = (q @ k.transpose(-2, -1) / 2).masked_fill(
            torch.zeros(1, dtype=torch.bool), float("-inf")
        )
        heads = self.dropout(torch.softmax(scores, dim=-1)) @ v
        merged: Tensor = self.o_proj(heads.transpose(1, 2).reshape(x.shape))
        return merged


def rehearse() -> None:
    """Run a small trial in every dtype; the state of torch's generator is as before."""
    state = torch.get_rng_state()
    shapes = {
        f"{layer}.{part}": shape
        for layer in ("q_proj", "k_proj", "v_proj", "o_proj")
        for part, shape in (("weight", 2), ("bias", 1))
    }
    tensors: list[Tensor] = []
    runs = [
        _run(dtype, mode, shapes, tensors)
        for dtype, mode in (("float32", "eval"), ("float64", "train"), ("bfloat16", "eval"))
    ]
    rehearsed = Request("", "module", ["Rehearsed"], 0, [*runs, runs[0]], [])
    CaseRunner(rehearsed, tensors, GuardedCall(""), KeptTensors(), Hooks()).run_all(
        {"Rehearsed": _Rehearsed}, _drive
    )
    torch.set_rng_state(state)


def choose_kernels(request: Request, given: Sequence[Tensor]) -> None:
    """Have this process multiply bfloat16 matrices without oneDNN where a request's are small, and with it where they are not.

    oneDNN compiles a kernel for each of their sizes, which takes longer than all that it saves; large products are many times faster with it.
    """
    sizes = [_entries(run, given) for run in request.runs if run.dtype == "bfloat16"]
    torch._C._set_mkldnn_enabled(not sizes or max(sizes) > _SMALL)


def _entries(run: Run, given: Sequence[Tensor]) -> int:
    """Of all tensors that go into a run."""
    inputs = leaves({name: fill(tree, given) for name, tree in run.inputs.items()})
    return sum(tensor.numel() for _, tensor in inputs) + sum(
        given[one].numel() for one in run.parameters.values()
    )


def keep_freed_memory() -> None:
    """Have the allocator keep freed memory.

    The profiler takes a megabyte for each call that it counts; otherwise the kernel clears each page
    of it again.
    """
    if hasattr(libc := ctypes.CDLL(None), "mallopt"):  # glibc
        libc.mallopt(_M_MMAP_THRESHOLD, 4 << 20)
        libc.mallopt(_M_TRIM_THRESHOLD, 64 << 20)


def have_memory_ready() -> None:
    """Write to some memory once, which the allocator then keeps.

    The kernel clears each page when it is first written to, which would be in the middle of a run.
    """
    blocks = [torch.ones(1 << 18) for _ in range(_READY_BYTES >> 20)]
    del blocks


def give_memory_back() -> None:
    """Have the allocator give back to the system at once what is freed, so that the kernel's count follows what is alive."""
    if hasattr(libc := ctypes.CDLL(None), "mallopt"):  # glibc
        libc.mallopt(_M_MMAP_THRESHOLD, 64 << 10)
        libc.mallopt(_M_TRIM_THRESHOLD, 0)
        libc.malloc_trim(0)  # what the fork server has freed and kept would hide as much


def _drive(implementation: Any, given: Given) -> dict[str, Tensor]:
    return {"out": implementation(given.x)}


def _run(dtype: str, mode: str, shapes: Mapping[str, int], tensors: list[Tensor]) -> Run:
    """One case of three tokens, with gradients."""
    kind: torch.dtype = getattr(torch, dtype)
    first = len(tensors)
    tensors += [
        torch.ones(1, 3, _WIDTH, dtype=kind),
        *(torch.ones((_WIDTH,) * dims, dtype=kind) for dims in shapes.values()),
    ]
    parameters = {name: first + 1 + index for index, name in enumerate(shapes)}
    x = {"x": {"tensor": first}}
    return Run({}, {}, x, x, parameters, {"out": first}, dtype, mode, {}, ["x"], None)
