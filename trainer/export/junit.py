"""The results of a class as JUnit XML: a suite a submission, a test case a check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from trainer.classroom.records import StudentResult
from trainer.model.report import Outcome
from trainer.report.class_words import VERDICTS
from trainer.report.visible import visible

# How long a check took is not known, only how long all of them did: a suite has a time, its test cases have none.


def junit_xml(results: Iterable[StudentResult]) -> str:
    """The whole file."""
    suites: list[str] = []
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    seconds = 0.0
    for result in results:
        cases = list(_cases(result))
        for kind in counts:
            counts[kind] += len(cases) if kind == "tests" else sum(one == kind for one, _ in cases)
        seconds += result.seconds
        suites.append(_suite(result, cases))
    numbers = _numbers(counts, seconds)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="attn-drill"{numbers}>\n{"".join(suites)}</testsuites>\n'


def _suite(result: StudentResult, cases: list[tuple[str, str]]) -> str:
    counts = {"tests": len(cases)} | {
        kind: sum(one == kind for one, _ in cases) for kind in ("failures", "errors", "skipped")
    }
    name = _attribute(f"{result.student}: {result.challenge}")
    printed = f"<system-out>{_text(result.text)}</system-out>\n" if result.text else ""
    body = "".join(line for _, line in cases)
    return f"<testsuite name={name}{_numbers(counts, result.seconds)} file={_attribute(result.file)}>\n{body}{printed}</testsuite>\n"


def _numbers(counts: dict[str, int], seconds: float) -> str:
    return (
        "".join(f' {kind}="{count}"' for kind, count in counts.items()) + f' time="{seconds:.3f}"'
    )


def _cases(result: StudentResult) -> Iterator[tuple[str, str]]:
    """What kind each test case is ("" for a pass), and its element."""
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
        # What did not pass is never all green, whatever its checks say.
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
    """The first message as the attribute, all of them as the text."""
    said = [f"{one.case}: {one.message}" if one.case else one.message for one in lines]
    return f"<failure message={_attribute(said[0])} type={_attribute(str(result.verdict))}>{_text(chr(10).join(said))}</failure>"


def _attribute(text: str) -> str:
    """Quoted; XML has no control characters, not even as references: they are shown as their escapes."""
    return quoteattr(visible(text))


def _text(text: str) -> str:
    return escape(visible(text, lines=True))
