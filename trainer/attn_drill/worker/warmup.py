"""Prepare a worker before its file arrives: run a small grading of a built-in module.

A forked process shares each memory page with its parent until it writes to the page. Python writes
to every object that it uses, because of reference counts. So the first pass through torch's code
copies many pages, which takes a fifth of the time of a whole grading. Before the learner's file
arrives, this costs no waiting time. The results of the rehearsal are thrown away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors
from attn_drill.worker.execution import leaves
from attn_drill.worker.guarded_call import GuardedCall
from attn_drill.worker.library_calls import LibraryCalls
from attn_drill.worker.protocol import Call, Request, Run, fill_all

_WIDTH = 4
_SMALL = 1 << 16  # entries of all input tensors of a case together


class _Rehearsed(nn.Module):
    """Attention with two heads, made of the layers and operations that most answers use."""

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
    """Run a small case in every dtype. Leave the state of torch's random generator unchanged."""
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
    request = Request("", "module", ["Rehearsed"], 0, [*runs, runs[0]], [])
    rules = LibraryCalls((), lambda words, is_by_challenge: None)
    runner = CaseRunner(request, tensors, GuardedCall(""), KeptTensors(), Hooks(), rules)
    runner.run_all(
        {"Rehearsed": _Rehearsed}, lambda implementation, given: {"out": implementation(given.x)}
    )
    torch.set_rng_state(state)


def choose_kernels(request: Request, tensors: Sequence[Tensor]) -> None:
    """Switch oneDNN off in this process if all bfloat16 cases of a request are small, else on.

    oneDNN compiles a kernel for each size of a bfloat16 matrix product. For small products, this
    takes longer than the kernels save. Large products are many times faster with oneDNN.
    """
    sizes: list[int] = []
    for run in request.runs:
        if run.dtype == "bfloat16":
            inputs = leaves(fill_all(run.inputs, tensors))
            parameters = [tensors[tensor_id] for tensor_id in run.parameters.values()]
            into_run = [*(tensor for _, tensor in inputs), *parameters]
            sizes.append(sum(tensor.numel() for tensor in into_run))
    torch.backends.mkldnn.set_flags(not sizes or max(sizes) > _SMALL)  # type: ignore[no-untyped-call]  # torch gives no types


def _run(dtype: str, mode: str, shapes: Mapping[str, int], tensors: list[Tensor]) -> Run:
    """Return one case of three tokens, with gradients. Append its tensors to `tensors`."""
    torch_dtype: torch.dtype = getattr(torch, dtype)
    first_id = len(tensors)
    tensors += [
        torch.ones(1, 3, _WIDTH, dtype=torch_dtype),
        *(torch.ones((_WIDTH,) * dim_count, dtype=torch_dtype) for dim_count in shapes.values()),
    ]
    parameters = {name: first_id + 1 + index for index, name in enumerate(shapes)}
    x = {"x": {"tensor": first_id}}
    calls = [Call(gradients=True), Call("second", is_in_same_memory=True)]
    return Run({}, {}, x, x, parameters, {"out": first_id}, dtype, mode, {}, ["x"], calls)
