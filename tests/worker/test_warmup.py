"""The worker's life as the grader sees it: replies, deaths, hangs, floods, garbage."""

from typing import Any

import msgspec
import pytest
import torch

from trainer.grading.case_set import load_case_set
from trainer.packs import pack_reader
from trainer.worker import warmup
from trainer.worker.case_runner import CaseRunner
from trainer.worker.protocol import Request, decode


def test_a_rehearsal_goes_all_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker rehearses before it has a file fails nowhere (nobody would see it), takes gradients and second calls, and leaves chance as it was."""
    made: list[CaseRunner] = []

    class Seen(CaseRunner):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(warmup, "CaseRunner", Seen)
    before = torch.get_rng_state()
    warmup.rehearse()
    assert torch.equal(torch.get_rng_state(), before)
    (runner,) = made
    assert len(runner.runs) == 4
    for told in runner.runs:
        assert (told.failure, told.gradient_failure, told.again_failure, told.unassigned) == (
            None,
            None,
            None,
            False,
        )
        assert set(told.gradients) >= {"x", "q_proj.weight", "o_proj.bias"}
        assert told.outputs_again


def test_kernels_suit_the_sizes() -> None:
    """Small bfloat16 products go without oneDNN, which would compile a kernel for each; large ones go with it, and so does what has none."""
    gqa, enabled = (
        pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"),
        torch._C._get_mkldnn_enabled,
    )
    request, tensors = decode(load_case_set(gqa, 3).request(), Request)
    try:
        warmup.choose_kernels(request, tensors)
        assert not enabled()
        large = [
            tensor.expand(1 << 14, *tensor.shape) if tensor.dtype is torch.bfloat16 else tensor
            for tensor in tensors
        ]
        warmup.choose_kernels(request, large)
        assert enabled()
        torch._C._set_mkldnn_enabled(False)
        others = [run for run in request.runs if run.dtype != "bfloat16"]
        warmup.choose_kernels(msgspec.structs.replace(request, runs=others), tensors)
        assert enabled()
    finally:
        torch._C._set_mkldnn_enabled(True)
