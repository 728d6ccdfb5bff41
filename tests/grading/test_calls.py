"""The calls that a worker makes in each case."""

from attn_drill.grading.case_set import calls_for
from attn_drill.grading.grader import Grader
from tests.support.grading import GQA


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
