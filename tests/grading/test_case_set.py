"""Case sets: their seed, their requests, their calls, and the trivial answers."""

import torch

from attn_drill.grading.case_set import calls_for, load_case_set
from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from attn_drill.worker.protocol import Request, decode
from tests.support.diagnosis import CHALLENGES, SEED
from tests.support.grading import GQA


def test_seed_determines_the_request() -> None:
    """Requests of one seed are equal byte for byte."""
    assert load_case_set(GQA, 3).request() == load_case_set(GQA, 3).request()
    assert load_case_set(GQA, 3).request() != load_case_set(GQA, 4).request()


def test_random_numbers_of_a_case_contain_no_zero() -> None:
    """`torch.rand(...) < p` drops nothing if p is tiny. These seeds need a second try."""
    for seed in (426, 524, 606):
        request, _ = load_case_set(GQA, seed).decoded_request("grade")
        torch.manual_seed(request.random_seed)
        assert torch.rand(1 << 16).all()


def test_request_has_no_expected_value() -> None:
    """No output of the reference, of the first or the second call, is a tensor of the request."""
    case_set = load_case_set(GQA, 3)
    _, tensors = decode(case_set.request(), Request)
    sent = [tensor.to(torch.float64) for tensor in tensors]
    for prepared in case_set.prepared:
        expected = prepared.expected
        for value in [*expected.outputs.values(), *expected.second.values()]:
            if bool((value.value != 0).any()):
                assert not any(
                    tensor.shape == value.value.shape and torch.allclose(tensor, value.value)
                    for tensor in sent
                )


def test_inputs_are_rounded_before_the_reference_runs() -> None:
    """A submission is not judged by digits that the dtype of the case cannot hold."""
    case_set = load_case_set(GQA, 3)
    prepared = next(prepared for prepared in case_set.prepared if prepared.case.dtype == "bfloat16")
    dtypes = {tensor.dtype for tensor in prepared.tensors.values()}
    assert torch.bfloat16 in dtypes
    assert dtypes <= {torch.bfloat16, torch.bool}


def test_vectorised_case_comes_with_its_pair(grader: Grader) -> None:
    """Selecting a case of a vectorised pair also selects the other case of this pair."""
    case_set = grader.case_set(CHALLENGES["mla"], SEED)
    cases = case_set.cases
    probes = [index for index, case in enumerate(cases) if case.probe == "vectorised"]
    assert len(probes) > 2
    assert case_set.select([probes[3]]).cases == (cases[probes[2]], cases[probes[3]])
    assert case_set.select([probes[3]], alone=True).cases == (cases[probes[3]],)


def test_a_case_is_called_with_and_without_gradients_on_other_values(grader: Grader) -> None:
    """An answer that is right in one kind of call only is wrong in one of the two calls.

    The second values lie in the memory of the first, so an answer that was kept for it shows.
    """
    case_set = grader.case_set(GQA, 5)
    seen = 0
    for prepared, calls in zip(case_set.prepared, case_set.calls, strict=True):
        if prepared.case.probe or prepared.case.dropout is not None:
            continue
        seen += 1
        assert calls[0].values == "first"
        assert calls[0].gradients == bool(prepared.cotangents)
        assert (calls[1].values, calls[1].gradients) == ("second", False)
        assert calls[1].is_in_same_memory
    assert seen > 10


def test_the_first_case_of_each_kind_is_called_a_third_time(grader: Grader) -> None:
    """The third call, on the first values, shows random results and a spoilt state."""
    case_set = grader.case_set(GQA, 5)
    kinds = [
        (prepared.case.mode, prepared.case.check)
        for prepared, calls in zip(case_set.prepared, case_set.calls, strict=True)
        if len(calls) == 3 and prepared.case.dropout is None and calls[2].values == "first"
    ]
    plain = [case for case in case_set.cases if not case.probe and case.dropout is None]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) == {(case.mode, case.check) for case in plain}


def test_dropout_is_called_in_training_eval_and_training_mode(grader: Grader) -> None:
    """The calls have the same values, so those in training mode must draw other random numbers."""
    case_set = grader.case_set(GQA, 5)
    random = [
        calls
        for prepared, calls in zip(case_set.prepared, case_set.calls, strict=True)
        if prepared.case.dropout is not None
    ]
    assert random
    for calls in random:
        assert [call.values for call in calls] == ["first"] * 3
        assert [call.is_in_eval_mode for call in calls] == [False, True, False]


def test_a_probe_is_called_once_and_counted(grader: Grader) -> None:
    """A probe counts the cost of a call without gradients. No other case is counted."""
    case_set = grader.case_set(GQA, 5)
    for prepared, calls in zip(case_set.prepared, case_set.calls, strict=True):
        assert [call.observe for call in calls].count("cost") == bool(prepared.case.probe)
        if prepared.case.probe:
            assert len(calls) == 1
            assert not calls[0].gradients


def test_other_purposes_make_one_call(grader: Grader) -> None:
    """A recorded run takes the first values, whatever a verdict needs."""
    for calls in grader.case_set(GQA, 5).calls:
        for purpose in ("lines", "tensors", "gradients", "facts"):
            (call,) = calls_for(purpose, calls)
            assert (call.values, call.observe) == ("first", purpose)
        (asked,) = calls_for("outputs", calls)
        assert (asked.values, asked.observe) == ("first", "")
        assert calls_for("grade", calls) is calls


PACK = pack_reader.built_in_pack()


def test_input_is_right_exactly_where_it_is_the_output() -> None:
    """With a single key, attention returns the value of this key."""
    case_set = load_case_set(pack_reader.find_challenge(PACK, "sdpa"), 5)
    equal = []
    for prepared in case_set.prepared:
        out, v = prepared.expected.outputs["out"].value, prepared.tensors.get("v")
        has_one_key = v is not None and v.shape[-2] == 1
        equal.append(float(has_one_key and torch.allclose(out, v.double(), rtol=1e-2)))
    assert 0 < sum(equal) < 5
    assert case_set.trivial_credits["v"] == equal


def test_each_trivial_answer_has_a_share_for_each_case() -> None:
    """A mask of ones is right where everything may be seen."""
    case_set = load_case_set(pack_reader.find_challenge(PACK, "masks"), 5)
    credits = case_set.trivial_credits
    assert {len(shares) for shares in credits.values()} == {len(case_set.prepared)}
    assert 0 < sum(credits["ones"]) < len(case_set.prepared) / 2
    assert {"zeros", "ones"} <= credits.keys()
