"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

import math
import re
from dataclasses import replace

import pytest

from tests.support.checks import GQA, SOLUTION
from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from tests.support.running import RIGHT_SUM, grade_prefix_sum
from trainer.grading import comparison
from trainer.grading.comparison import CaseResult, Comparison
from trainer.grading.grader import Grader
from trainer.grading.tensor_comparison import compare_values
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.worker.protocol import Tried

SIGNS = pack_reader.find_challenge(TINY_PACK, "signs")


@pytest.mark.parametrize(
    ("old", "new", "check", "says"),
    [
        pytest.param("int((x > 0).sum())", "(x > 0).sum()", "dtype", "count is a tensor; it must be an int", id="a tensor"),
        pytest.param("int((x > 0).sum())", "float((x > 0).sum())", "dtype", "count is the float 14.0; it must be an int", id="a float"),
        pytest.param("int((x > 0).sum())", "True", "dtype", "count is the bool True; it must be an int", id="a bool"),
        pytest.param("int((x > 0).sum())", "10 ** 9000", "dtype", "count is an int; it must be an int", id="an int that nobody wrote out"),
        pytest.param("int((x > 0).sum())", "None", "dtype", "count is None", id="nothing"),
        pytest.param("int((x > 0).sum())", "int((x < 0).sum())", "values", "count is 1; it must be 14", id="another int"),
        pytest.param('"minus"', '"Minus"', "values", "sign is 'Minus'; it must be 'minus'", id="another str"),
        pytest.param("x.mean() < 0", "sign_of.__dict__.setdefault('kept', x.mean() < 0)", "values", "sign is", id="the answer of another call"),
    ],
)  # fmt: skip
def test_outputs_that_are_no_tensors(
    grader: Grader, old: str, new: str, check: str, says: str
) -> None:
    """Ints and strings are compared exactly, and their types are."""
    source = pack_reader.solution(SIGNS)
    assert old in source
    failure = report_of(grader, SIGNS, source.replace(old, new), "signs.py", 3).first_failure()
    assert failure is not None
    assert failure.check == check
    assert re.search(says, failure.message), failure.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "int((x > 0).sum())",
            "__import__('enum').IntEnum('Count', {'all': int((x > 0).sum())}).all",
            id="a member of an enumeration",
        ),
        pytest.param(
            '"minus"',
            "__import__('enum').StrEnum('Sign', ['minus']).minus",
            id="a member of an enumeration of strings",
        ),
    ],
)
def test_plain_outputs_of_a_subclass(grader: Grader, old: str, new: str) -> None:
    """What is an int or a string in Python is one here."""
    assert (
        report_of(
            grader, SIGNS, pack_reader.solution(SIGNS).replace(old, new), "signs.py", 3
        ).verdict
        == "passed"
    )


def test_one_look_sees_every_tensor(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A right case is known to be right by one comparison; one entry that is off in any of its calls or gradients is found all the same."""
    case_set = grader.case_set(GQA, 5)
    found = grader.judge(case_set, Submission("gqa.py", SOLUTION)).comparison
    compared: list[str] = []
    monkeypatch.setattr(
        comparison,
        "compare_values",
        lambda name, *more: compared.append(name) or compare_values(name, *more),
    )
    Comparison(case_set, found.ended).compare_ahead()
    assert compared == []
    for number in (
        0,
        next(place for place, case in enumerate(case_set.cases) if case.dtype == "bfloat16"),
    ):
        told = found.reply.runs[number]
        calls = (
            told.outputs,
            told.outputs_with_gradients,
            told.outputs_once_more,
            told.outputs_again,
        )
        tensors = [returned.tensor for call in calls for returned in call.values()]
        prepared = case_set.prepared[number]
        if prepared.case.dtype != "bfloat16":  # whose gradients are only asked to arrive
            tensors += [told.gradients[name] for name in prepared.expected.gradients]
        assert len(tensors) == len(set(tensors)) >= 2
        for tensor in tensors:
            was = found.ended.tensors[tensor]
            for off in (2.0, math.nan):
                found.ended.tensors[tensor] = was.clone()
                found.ended.tensors[tensor].view(-1)[-1] += off
                other = Comparison(case_set, found.ended)
                assert not other._agrees(CaseResult(number, prepared, told))
            found.ended.tensors[tensor] = was


def test_a_forged_reply_without_values_is_no_pass(grader: Grader) -> None:
    """A well-formed reply that claims everything but holds no tensors does not pass."""
    forged = (
        "import os\n"
        "    from trainer.worker.protocol import Reply, RunReply, TensorTable, encode, message, REPLY\n"
        "    from trainer.worker.protocol import FoundParameter\n"
        "    frame = encode(Reply(defined=['prefix_sum'], signatures={'prefix_sum': None}, runs=[RunReply() for _ in range(7)]), TensorTable())\n"
        "    for fd in range(3, 20):\n"
        "        try:\n"
        "            os.write(fd, message(REPLY, frame))\n"
        "        except OSError:\n"
        "            pass"
    )
    report = grade_prefix_sum(grader, RIGHT_SUM.format(forged))
    assert report.verdict != "passed"
    assert report.statuses()["shapes"] == "failed"


def test_a_worker_cannot_name_what_is_not_asked(grader: Grader) -> None:
    """What a worker says it has tried is looked at like all else: more outputs than assignments, or a case that there is not, mean nothing."""
    case_set = grader.case_set(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"), 7)
    reference = Submission("gqa.py", pack_reader.solution(case_set.challenge))
    right = Comparison(case_set, grader.workers.run(case_set, reference))
    outputs, wrong = right.reply.runs[0].outputs, right.reply.runs[1].outputs
    for tried, likely in (
        (None, []),
        (Tried(0, [{}, {}], [wrong, outputs]), [1]),
        (Tried(0, [{}, {}], [outputs, wrong]), [0]),
        (Tried(0, [{}, {}], [outputs, outputs]), [0, 1]),
        (Tried(0, [{}, {}], [wrong, {}]), []),
        (Tried(0, [{}], [wrong, outputs]), []),
        (Tried(len(case_set.cases), [{}, {}], [wrong, outputs]), []),
        (Tried(-1, [{}, {}], [wrong, outputs]), []),
    ):
        comparison = Comparison(case_set, replace(right.ended, tried=tried))
        assert comparison.agreeing_assignments() == likely
