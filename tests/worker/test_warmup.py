"""The rehearsal of a worker, and the choice of kernels for bfloat16."""

from typing import Any

import msgspec
import pytest
import torch

from attn_drill.grading.case_set import load_case_set
from attn_drill.packs import pack_reader
from attn_drill.worker import _forkserver
from attn_drill.worker.case_runner import CaseRunner
from attn_drill.worker.protocol import Request, decode


def test_a_rehearsal_runs_all_calls_without_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal includes gradients and second calls, and keeps the state of the random generator.

    Nobody would see a failure of the rehearsal, so this test looks for failures.
    """
    runners: list[CaseRunner] = []

    class RecordedRunner(CaseRunner):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            runners.append(self)

    monkeypatch.setattr(_forkserver, "CaseRunner", RecordedRunner)
    before = torch.get_rng_state()
    _forkserver.rehearse()
    assert torch.equal(torch.get_rng_state(), before)
    (runner,) = runners
    assert len(runner.runs) == 4
    for run in runner.runs:
        assert run.failure is None
        assert not run.unassigned
        assert len(run.calls) >= 2
        assert all(call.outputs and call.failure is None for call in run.calls)
        assert set(run.first.gradients) >= {"x", "q_proj.weight", "o_proj.bias"}


def test_kernels_are_chosen_by_the_size_of_bfloat16_cases() -> None:
    """oneDNN is off only for small bfloat16 cases: it would compile a kernel for each size."""
    gqa, enabled = (
        pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"),
        torch._C._get_mkldnn_enabled,
    )
    request, tensors = decode(load_case_set(gqa, 3).request(), Request)
    try:
        _forkserver.choose_kernels(request, tensors)
        assert not enabled()
        large = [
            tensor.expand(1 << 14, *tensor.shape) if tensor.dtype is torch.bfloat16 else tensor
            for tensor in tensors
        ]
        _forkserver.choose_kernels(request, large)
        assert enabled()
        torch._C._set_mkldnn_enabled(False)
        others = [run for run in request.runs if run.dtype != "bfloat16"]
        _forkserver.choose_kernels(msgspec.structs.replace(request, runs=others), tensors)
        assert enabled()
    finally:
        torch._C._set_mkldnn_enabled(True)
