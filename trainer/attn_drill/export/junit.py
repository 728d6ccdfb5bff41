"""Write the results of a class as JUnit XML.

Each submission is a suite, and each check is a test case. Only the duration of a whole submission
is known, so a suite has a time and its test cases have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from attn_drill.classroom.records import StudentResult
from attn_drill.report.class_words import VERDICTS, messages
from attn_drill.report.visible import visible

_KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def junit_xml(results: Iterable[StudentResult]) -> str:
    """Return the text of the file.

    XML has no control characters, not even as references. They become escapes like `\\x1b`.
    """
    root = ElementTree.Element("testsuites", name="attn-drill")
    seconds = 0.0
    for result in results:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=visible(f"{result.student}: {result.challenge}"),
            file=visible(result.file),
        )
        _add_cases(suite, result)
        _add_counts(suite, result.seconds)
        if result.text:
            printed = ElementTree.SubElement(suite, "system-out")
            printed.text = visible(result.text, lines=True)
        seconds += result.seconds
    _add_counts(root, seconds)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_counts(element: ElementTree.Element, seconds: float) -> None:
    element.set("tests", str(len(list(element.iter("testcase")))))
    for count, tag in _KINDS.items():
        element.set(count, str(len(list(element.iter(tag)))))
    element.set("time", f"{seconds:.3f}")


def _add_cases(suite: ElementTree.Element, result: StudentResult) -> None:
    def add(name: str, tag: str, message: str) -> None:
        case = ElementTree.SubElement(suite, "testcase", classname=result.challenge, name=name)
        if tag:
            first = visible(message.partition("\n")[0])
            ElementTree.SubElement(case, tag, message=first).text = visible(message, lines=True)

    if result.verdict is None:
        add("grading", "error", result.error or "the grader failed")
        return
    statuses = result.statuses()
    tags = {"failed": "failure", "skipped": "skipped", "passed": ""}
    for name, status in statuses.items():
        add(name, tags[status], messages(result, name) or "incomplete")
    if result.verdict != "passed" and "failed" not in statuses.values():
        # A submission that did not pass must have a failure, even if no check failed.
        add("verdict", "failure", VERDICTS[result.verdict][1])
