"""Cases, weights and expected values of a challenge and a seed."""

import torch

from tests.support.diagnosis import CHALLENGES, SEED
from trainer.grading.case_set import load_case_set
from trainer.grading.grader import Grader
from trainer.packs import pack_reader
from trainer.worker.protocol import Request, decode

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")


def test_a_seed_gives_the_same_cases() -> None:
    """Requests are equal byte by byte."""
    assert load_case_set(GQA, 3).request() == load_case_set(GQA, 3).request()
    assert load_case_set(GQA, 3).request() != load_case_set(GQA, 4).request()


def test_the_worker_is_told_no_expected_value() -> None:
    """No output of the reference, on first or second inputs, lies among the tensors of the request."""
    case_set = load_case_set(GQA, 3)
    _, tensors = decode(case_set.request(), Request)
    told = [tensor.to(torch.float64) for tensor in tensors]
    for prepared in case_set.prepared:
        want = prepared.expected
        for value in [*want.outputs.values(), *want.again.values()]:
            if bool((value.value != 0).any()):
                assert not any(
                    tensor.shape == value.value.shape and torch.allclose(tensor, value.value)
                    for tensor in told
                )


def test_inputs_are_rounded_to_the_dtype_before_the_reference_sees_them() -> None:
    """A submission is not judged by digits that the dtype cannot hold."""
    case_set = load_case_set(GQA, 3)
    number = next(index for index, case in enumerate(case_set.cases) if case.dtype == "bfloat16")
    assert all(
        tensor.dtype in (torch.bfloat16, torch.bool)
        for tensor in case_set.prepared[number].tensors.values()
    )


def test_a_probe_comes_with_its_pair(grader: Grader) -> None:
    """A case of a vectorised pair is looked at with the other one, and with no other."""
    case_set = grader.case_set(CHALLENGES["mla"], SEED)
    cases = case_set.cases
    probes = [number for number, case in enumerate(cases) if case.probe == "vectorised"]
    assert len(probes) > 2
    assert case_set.only([probes[3]]).cases == (cases[probes[2]], cases[probes[3]])
    assert case_set.only([probes[3]], alone=True).cases == (cases[probes[3]],)
