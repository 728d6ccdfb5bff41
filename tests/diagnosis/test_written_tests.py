"""The tests that a learner writes: right answers, mistakes, and files that do not work."""

from pathlib import Path

import pytest

from attn_drill.app.tests_file import hand_out_tests
from attn_drill.diagnosis.written_tests import grade_tests
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge, Limits, Submission
from attn_drill.model.tests_report import TestsReport
from attn_drill.packs import pack_reader
from tests.support.grading import diagnoser_of

BUILT_IN = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(BUILT_IN, "gqa")
HEAD = """
import time
import pytest
import torch
import gqa
@pytest.fixture
def attention():
    return gqa.GroupedQueryAttention(24, 6, 2)
"""
SHAPE = """
def test_shape(attention):
    assert attention(torch.randn(2, 5, 24)).shape == (2, 5, 24)
"""
GROUPS = """
def test_groups(attention):
    attention = attention.double().eval()
    x = torch.randn(2, 5, 24).double()
    q, k, v = (layer(x).unflatten(-1, (-1, 4)).transpose(1, 2)
               for layer in (attention.q_proj, attention.k_proj, attention.v_proj))
    k, v = k.repeat_interleave(3, 1), v.repeat_interleave(3, 1)
    weights = (q @ k.mT / 2).softmax(-1)
    want = attention.o_proj((weights @ v).transpose(1, 2).reshape(2, 5, 24))
    torch.testing.assert_close(attention(x), want)
"""
REFUSES_RIGHT = """
def test_biases(attention):
    assert not attention(torch.zeros(2, 5, 24)).any()
"""


def report_of(
    grader: Grader, source: str, challenge: Challenge = GQA, seed: int = 3
) -> TestsReport:
    """Return the report about a file of tests."""
    references = diagnoser_of(grader).references(grader.case_set(challenge, seed))
    name = f"test_{challenge.file_name}"
    return grade_tests(grader.workers, references, Submission(name, source))


def test_better_tests_catch_more_mistakes(grader: Grader) -> None:
    """Values show what shapes do not. Each mistake is drawn once, and does something wrong."""
    weak, strong = report_of(grader, HEAD + SHAPE), report_of(grader, HEAD + SHAPE + GROUPS)
    assert weak.tests == ("test_shape",)
    assert strong.tests == ("test_shape", "test_groups")
    assert weak.answers > 1
    assert weak.false_alarms == strong.false_alarms == ()
    assert len({mistake.id for mistake in weak.mistakes}) == len(weak.mistakes) == 10
    assert [each.id for each in weak.mistakes] == [each.id for each in strong.mistakes]
    assert {each.id for each in weak.caught} < {each.id for each in strong.caught}
    assert not strong.passed
    assert report_of(grader, f"{HEAD}{SHAPE}@pytest.mark.skip{GROUPS}").skipped == ("test_groups",)


def test_test_that_refuses_a_right_answer_catches_nothing(grader: Grader) -> None:
    """It is a false alarm with its line, also if it fails on every mistake."""
    report = report_of(grader, HEAD + REFUSES_RIGHT)
    assert report.false_alarms[0].answer == "reference"
    (failed,) = report.false_alarms[0].tests
    assert (failed.test, failed.line) == ("test_biases", 11)
    assert failed.failure.startswith("assert not")
    assert report.caught == ()
    assert not report.passed


@pytest.mark.parametrize(
    ("source", "trouble"),
    [
        (
            "import gqa\n",
            "the file has no test: a test is a function whose name begins with `test_`",
        ),
        ("import gqa\ndef test_x(:\n    pass\n", "line 2: SyntaxError: invalid syntax"),
        ("import gqa\nimport nothing_like_it\n", "line 2: ModuleNotFoundError: No module named"),
        ("import gqa\nimport os\nos._exit(0)\n", "with the reference, the process ended itself"),
        ("import gqa\nwhile True:\n    pass\n", "with the reference, they took more than 1 second"),
        (f"{HEAD}@pytest.mark.skip{SHAPE}", "all tests are skipped"),
        (f"{HEAD}def test_x():\n    pytest.exit('bye')\n", "pytest was ended before all tests"),
    ],
)
def test_file_without_a_test_that_runs_is_told_why(
    grader: Grader, monkeypatch: pytest.MonkeyPatch, source: str, trouble: str
) -> None:
    """Nothing is said about mistakes then."""
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=1.0))
    report = report_of(grader, source)
    assert report.trouble.startswith(trouble)
    assert (report.tests, report.mistakes, report.passed) == ((), (), False)


def test_mistake_that_ends_the_tests_is_caught_and_the_next_is_tried(grader: Grader) -> None:
    """The worker that dies takes no other result with it."""
    dies = (
        HEAD
        + SHAPE
        + """
def test_masked(attention):
    x = torch.randn(2, 5, 24)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    if not torch.allclose(attention(x, mask)[:, 0], attention(x[:, :1])[:, 0], atol=1e-5):
        import os
        os._exit(0)
"""
    )
    report = report_of(grader, dies)
    assert report.false_alarms == ()
    caught_by = [each.caught_by for each in report.mistakes]
    assert len(caught_by) == 10
    assert ("the file",) in caught_by
    assert () in caught_by


def test_right_answer_on_which_the_tests_never_end_is_a_false_alarm(grader: Grader) -> None:
    """Then a mistake on which they end early is not caught by this."""
    source = (
        f"{HEAD}{SHAPE}def test_text():\n    import inspect, os\n"
        "    if 'dataclass' in inspect.getsource(gqa):\n        os._exit(0)\n"
    )
    (alarm,) = report_of(grader, source).false_alarms
    assert [failed.test for failed in alarm.tests] == ["the file"]


@pytest.mark.parametrize(
    "name",
    [
        "sdpa",
        *(
            pytest.param(name, marks=pytest.mark.thorough)
            for name in ("kv-cache", "masks", "mini-gpt", "rolling-cache")
        ),
    ],
)
def test_stub_of_tests_imports_every_kind_of_answer(
    grader: Grader, tmp_path: Path, name: str
) -> None:
    """The fixtures of the file find the names that the task asks for."""
    challenge = pack_reader.find_challenge(BUILT_IN, name)
    path, _ = hand_out_tests(challenge, tmp_path)
    entries = ", ".join(challenge.entry)
    source = path.read_text() + f"\ndef test_names({entries}):\n    assert all([{entries}])\n"
    report = report_of(grader, source, challenge)
    assert (report.trouble, report.false_alarms, report.tests) == ("", (), ("test_names",))
