"""The comparison of a worker's reply with the expected results."""

import math
import re

from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Submission
from attn_drill.packs import pack_reader
from tests.support.grading import GQA, RIGHT_SUM, SOLUTION, grade_prefix_sum, report_of
from tests.support.paths import TINY_PACK
from tests.support.rows import each_row

SIGNS = pack_reader.find_challenge(TINY_PACK, "signs")
COUNT = "int((x > 0).sum())"


@each_row(
    "old, new, check, says",
    {
        "a tensor": (COUNT, "(x > 0).sum()", "dtype", "count is a tensor; it must be an int"),
        "a float": (
            COUNT,
            "float((x > 0).sum())",
            "dtype",
            "count is the float 14.0; it must be an int",
        ),
        "a bool": (COUNT, "True", "dtype", "count is the bool True; it must be an int"),
        "an int with too many digits to show": (
            COUNT,
            "10 ** 9000",
            "dtype",
            "count is an int; it must be an int",
        ),
        "None": (COUNT, "None", "dtype", "count is None"),
        "another int": (COUNT, "int((x < 0).sum())", "values", "count is 1; it must be 14"),
        "another str": ('"minus"', '"Minus"', "values", "sign is 'Minus'; it must be 'minus'"),
        "the answer of another call": (
            "x.mean() < 0",
            "sign_of.__dict__.setdefault('kept', x.mean() < 0)",
            "values",
            "sign is",
        ),
    },
)
def test_wrong_plain_output_is_refused(
    grader: Grader, old: str, new: str, check: str, says: str
) -> None:
    """Ints and strings are compared exactly, and so are their types."""
    source = pack_reader.solution(SIGNS)
    assert old in source
    failure = report_of(grader, SIGNS, source.replace(old, new), "signs.py", 3).first_failure()
    assert failure.check == check
    assert re.search(says, failure.message), failure.message


@each_row(
    "old, new",
    {
        "a member of an enumeration": (
            COUNT,
            f"__import__('enum').IntEnum('Count', {{'all': {COUNT}}}).all",
        ),
        "a subclass that cannot be shown": (
            COUNT,
            f"type('Count', (int,), {{'__str__': lambda self: 1 / 0}})({COUNT})",
        ),
        "a member of an enumeration of strings": (
            '"minus"',
            "__import__('enum').StrEnum('Sign', ['minus']).minus",
        ),
    },
)
def test_subclass_of_a_plain_type_is_accepted(grader: Grader, old: str, new: str) -> None:
    """An instance of a subclass of int or str counts as an int or a str."""
    source = pack_reader.solution(SIGNS)
    assert old in source
    report = report_of(grader, SIGNS, source.replace(old, new), "signs.py", 3)
    assert report.verdict == "passed"


def test_comparison_covers_every_tensor(grader: Grader) -> None:
    """A wrong entry in any output of any call, or in any gradient, is a mismatch."""
    case_set = grader.case_set(GQA, 5)
    right = grader.judge(case_set, Submission("gqa.py", SOLUTION)).comparison
    worker_result = right.worker_result
    dtypes = [case.dtype for case in case_set.cases]
    for case_index in (0, dtypes.index("bfloat16")):
        reply, prepared = right.reply.runs[case_index], case_set.prepared[case_index]
        assert len(reply.calls) == len(case_set.calls[case_index]) >= 2
        tensor_ids = [got.tensor_id for call in reply.calls for got in call.outputs.values()]
        if prepared.case.dtype != "bfloat16":  # in bfloat16, gradients only have to arrive
            tensor_ids += [reply.first.gradients[name] for name in prepared.expected.gradients]
        assert len(tensor_ids) == len(set(tensor_ids)) >= 2
        assert Comparison(case_set, worker_result).results[case_index].agrees()
        for tensor_id in tensor_ids:
            tensor = worker_result.tensors[tensor_id]
            for difference in (2.0, math.nan):
                worker_result.tensors[tensor_id] = tensor.clone()
                worker_result.tensors[tensor_id].view(-1)[-1] += difference
                assert not Comparison(case_set, worker_result).results[case_index].agrees()
            worker_result.tensors[tensor_id] = tensor


def test_forged_reply_without_tensors_does_not_pass(grader: Grader) -> None:
    """A well-formed reply that claims success but has no tensors is refused."""
    forged = (
        "import os\n"
        "    from attn_drill.worker.protocol import Reply, RunReply, TensorTable, encode, message\n"
        "    from attn_drill.worker.protocol import REPLY\n"
        "    reply = Reply(defined=['prefix_sum'], signatures={'prefix_sum': None},\n"
        "                  runs=[RunReply() for _ in range(7)])\n"
        "    frame = encode(reply, TensorTable())\n"
        "    for fd in range(3, 20):\n"
        "        try:\n"
        "            os.write(fd, message(REPLY, frame))\n"
        "        except OSError:\n"
        "            pass"
    )
    report = grade_prefix_sum(grader, RIGHT_SUM.format(forged))
    assert report.verdict != "passed"
    assert report.statuses()["shapes"] == "failed"
