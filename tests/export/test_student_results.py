"""Tests of the results of a submission: their texts name no command."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from attn_drill.classroom.records import StudentResult
from attn_drill.export._class_page import class_html
from attn_drill.export.feedback import (
    as_text,
    feedback_html,
    gradescope_object,
    with_failure,
    with_report,
    with_trouble,
)
from attn_drill.model.checks import Verdict
from attn_drill.model.report import Diagnosis, Frame, Outcome, Report
from tests.support.class_results import CHECKS, NO_SCALE, assignment, make_gradebook

BARE = StudentResult(student="ana", challenge="first", file="ana.py", score=0.0)
# Options, commands and names that only a person at the command line understands.
COMMAND = re.compile(r"(?<!\S)`?--?[a-z]|attn-drill|\b(?:reset|hint|doctor|trace|repro)\b")
ADVICE = "`--time-limit` raises the limit"


def report(verdict: Verdict, *outcomes: Outcome, **more: object) -> Report:
    """Return a report with printed lines and notes."""
    about: dict[str, object] = {"seed": 5, "stdout": "printed\n" * 50} | more
    return Report("first", "ana.py", verdict=verdict, outcomes=outcomes, **about)  # type: ignore[arg-type]


def test_lines_of_a_notebook_name_their_cell() -> None:
    """The student sees cells, and not the file that was made of them."""
    source = "# cell 2\nimport torch\n\n# cell 5\ndef f(x):\n    return y\n"
    outcome = Outcome("runs", "failed", "NameError: y", frames=(Frame(6, "f", "return y"),))
    result = with_report(replace(BARE, file="ana.ipynb"), report("error", outcome), source)
    assert result.text.endswith("\nLine 6 is line 2 of code cell 5.\n")
    assert "cell" not in with_report(BARE, report("error", outcome), source).text
    assert result.source == source


def failed(check: str, message: str, advice: str = "") -> tuple[Outcome, ...]:
    """Return the outcomes of a file whose first failed check is this check."""
    index = CHECKS.index(check)
    return (
        *(Outcome(name, "passed") for name in CHECKS[:index]),
        Outcome(check, "failed", message, frames=(Frame(3, "forward", "x = y"),), advice=advice),
        *(Outcome(name, "skipped", f"needs {check}") for name in CHECKS[index + 1 :]),
    )


KINDS = {
    "passed": report("passed", *(Outcome(name, "passed") for name in CHECKS)),
    "failed": report(
        "failed",
        *failed("values", "3 of 6 values differ"),
        diagnosis=Diagnosis(mistakes=(replace(NO_SCALE, hint="Look at the scores."),)),
    ),
    "error": report("error", *failed("runs", "RuntimeError: size mismatch")),
    "timeout": report("timeout", *failed("runs", "still running at the time limit", ADVICE)),
    "timeout at import": report("timeout", *failed("loads", "it used 10 s", ADVICE)),
    "memory": report("memory", *failed("runs", "it used all the memory", "`--memory-limit` x")),
    "not allowed": report("not-allowed", *failed("from scratch", "torch has it")),
    "stub unchanged": report(
        "error",
        *failed("runs", "NotImplementedError: this part is not written yet"),
        unfinished="is not finished: forward raises NotImplementedError",
    ),
    "syntax error": report("error", *failed("loads", "SyntaxError: invalid syntax at line 3")),
}


def texts_of(result: StudentResult) -> Iterator[str]:
    """Yield every text that a student sees."""
    yield result.text
    for shown in ("report", "checks", "verdict"):
        settings = assignment(shown=shown)
        book = make_gradebook([result], settings)
        about = gradescope_object(book.rows[0], settings)
        yield json.dumps(about, ensure_ascii=False).replace("\\n", " ")
        feedback = "".join(feedback_html(book.rows[0], settings))
        yield re.sub("(?s)<head>.*</head>|<[^>]*>", " ", feedback)
    page = "".join(class_html(make_gradebook([result], assignment())))
    yield re.sub("<[^>]*>", " ", page.split('<section id="reports">')[1].split("<script>")[0])


@pytest.mark.parametrize("kind", KINDS)
def test_student_sees_no_command(kind: str) -> None:
    """Reports of all kinds name no option and no command in all texts for students."""
    result = with_report(BARE, KINDS[kind], "x = 1\n")
    for text in texts_of(result):
        assert COMMAND.search(text) is None, text


def test_student_with_a_file_that_cannot_be_graded_sees_no_command() -> None:
    """The file cannot be read, or the grader failed."""
    for text in texts_of(with_trouble(BARE, "ana.py is empty.")):
        assert COMMAND.search(text) is None, text
    found = with_failure(BARE, "It broke; `attn-drill doctor` shows more.")
    for text in list(texts_of(found))[1:-1]:  # the first and the last text are for the teacher
        assert COMMAND.search(text) is None, text


def test_text_of_a_report_has_no_likely_mistake() -> None:
    """The text has the checks and the message."""
    text = as_text(KINDS["failed"])
    assert "3 of 6 values differ" in text
    assert NO_SCALE.says not in text


def test_unreadable_file_fails_the_check_loads() -> None:
    """The result has a report with 0 points, and its text has the reason with escapes."""
    handed_in = StudentResult(student="ana", challenge="gqa", file="ana.py", score=0.0)
    found = with_trouble(handed_in, "ana.py is empty.\x1b[2J")
    assert (found.verdict, found.score, found.statuses()) == ("error", 0.0, {"loads": "failed"})
    assert found.text == "✗ loads\n  ana.py is empty.\\x1b[2J\n"


def test_failure_of_the_grader_gives_no_verdict_and_no_score() -> None:
    """The result keeps the sentence as its error."""
    handed_in = StudentResult(student="ana", challenge="gqa", file="ana.py", score=0.0)
    found = with_failure(handed_in, "The disk is full.")
    assert (found.verdict, found.score, found.error) == (None, None, "The disk is full.")
    assert found.text == "NOT GRADED  gqa\nThe disk is full.\n"
