"""Write the results of a class as JUnit XML.

Each submission is a suite, and each check is a test case. Only the duration of a whole submission
is known, so a suite has a time and its test cases have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from trainer.classroom.records import StudentResult
from trainer.model.report import Outcome
from trainer.report.class_words import VERDICTS
from trainer.report.visible import visible


def junit_xml(results: Iterable[StudentResult]) -> str:
    """Return the text of the file."""
    suites: list[str] = []
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    seconds = 0.0
    for result in results:
        cases = list(_cases(result))
        for kind in counts:
            counts[kind] += (
                len(cases) if kind == "tests" else sum(outcome == kind for outcome, _ in cases)
            )
        seconds += result.seconds
        suites.append(_suite(result, cases))
    numbers = _numbers(counts, seconds)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="attn-drill"{numbers}>\n{"".join(suites)}</testsuites>\n'
    )


def _suite(result: StudentResult, cases: list[tuple[str, str]]) -> str:
    counts = {"tests": len(cases)} | {
        kind: sum(outcome == kind for outcome, _ in cases)
        for kind in ("failures", "errors", "skipped")
    }
    name = _attribute(f"{result.student}: {result.challenge}")
    printed = f"<system-out>{_text(result.text)}</system-out>\n" if result.text else ""
    body = "".join(line for _, line in cases)
    numbers = _numbers(counts, result.seconds)
    return (
        f"<testsuite name={name}{numbers} file={_attribute(result.file)}>\n"
        f"{body}{printed}</testsuite>\n"
    )


def _numbers(counts: dict[str, int], seconds: float) -> str:
    return (
        "".join(f' {kind}="{count}"' for kind, count in counts.items()) + f' time="{seconds:.3f}"'
    )


def _cases(result: StudentResult) -> Iterator[tuple[str, str]]:
    """Yield the kind of each test case ("" for a pass) and its element."""
    group = result.challenge
    if result.verdict is None:
        yield (
            "errors",
            _case(
                group,
                "grading",
                f"<error message={_attribute(result.error or 'the grader failed')}/>",
            ),
        )
        return
    statuses = result.statuses()
    for name, status in statuses.items():
        lines = [
            outcome
            for outcome in result.outcomes
            if outcome.check == name and outcome.status == status
        ]
        if status == "failed":
            yield "failures", _case(group, name, _failure(lines, result))
        elif status == "skipped":
            yield (
                "skipped",
                _case(group, name, f"<skipped message={_attribute(lines[0].message)}/>"),
            )
        else:
            yield "", _case(group, name, "")
    if result.verdict != "passed" and "failed" not in statuses.values():
        # A submission that did not pass must have a failure, even if no check failed.
        words = VERDICTS[result.verdict][1]
        yield (
            "failures",
            _case(
                group,
                "verdict",
                f"<failure message={_attribute(words)} type={_attribute(result.verdict)}/>",
            ),
        )


def _case(group: str, name: str, inside: str) -> str:
    return f"<testcase classname={_attribute(group)} name={_attribute(name)}>{inside}</testcase>\n"


def _failure(lines: list[Outcome], result: StudentResult) -> str:
    """Return the element of a failed check.

    The first message is the attribute, and all messages are the text.
    """
    messages = [
        f"{outcome.case}: {outcome.message}" if outcome.case else outcome.message
        for outcome in lines
    ]
    return (
        f"<failure message={_attribute(messages[0])} type={_attribute(str(result.verdict))}>"
        f"{_text(chr(10).join(messages))}</failure>"
    )


def _attribute(text: str) -> str:
    """Return a text as a quoted attribute.

    XML has no control characters, not even as references. They become escapes like `\\x1b`.
    """
    return quoteattr(visible(text))


def _text(text: str) -> str:
    return escape(visible(text, lines=True))
