"""Run a learner's tests on right answers and on answers with a known mistake.

The tests run in a worker, on one implementation after the other. A mistake may crash the worker or
never end; then another worker goes on with the next implementation.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import msgspec

from attn_drill.diagnosis._behaviour import are_alike
from attn_drill.diagnosis.patched_references import PatchedReferences, silence
from attn_drill.grading.grader import Workers
from attn_drill.model.challenge import Limits, OtherAnswer, Submission
from attn_drill.model.tests_report import FailedTest, FalseAlarm, TestedMistake, TestsReport
from attn_drill.packs.pack_reader import other_answers
from attn_drill.worker.protocol import Request, TestResult, cap
from attn_drill.worker.worker_client import WorkerResult

_MOST_MISTAKES = 10
_FILE = "the file"  # in place of the name of a test
_MOST_LINES, _MOST_CHARACTERS = 4, 400  # of an exception

# The results of all tests on one implementation; None if the tests did not come to an end.
Results = list[TestResult] | None


@silence()
def grade_tests(
    workers: Workers, references: PatchedReferences, submission: Submission
) -> TestsReport:
    """Return the report about a file of tests: the false alarms, and the mistakes that it catches.

    The seed of the cases draws the mistakes, and is torch's seed in the tests.
    """
    case_set = references.case_set
    challenge, seed = case_set.challenge, case_set.seed
    answers = [answer for answer in other_answers(challenge) if _has_names(references, answer)]
    drawn = _drawn_mistakes(references, Random(seed))
    sources = [answer.source for answer in answers]
    sources += [references.patched((mistake,)) or "" for mistake in drawn]
    request = Request(
        drive_source=case_set.content.drive_source,
        kind=challenge.kind,
        entry=list(challenge.entry),
        random_seed=seed,
        runs=[],
        refusals=[],
        tested_module=challenge.folder.name,
    )
    results, ended = _run(workers, request, sources, submission)
    on_reference = results[0] or []
    report = TestsReport(
        challenge.id,
        submission.name,
        seed,
        tests=tuple(test.name for test in on_reference if test.name and not test.is_skipped),
        skipped=tuple(test.name for test in on_reference if test.is_skipped),
        answers=len(answers),
    )
    if not report.tests:
        return replace(report, trouble=_trouble(results[0], ended, workers.limits))
    alarms = tuple(
        FalseAlarm(answer.name, answer.does, failed)
        for answer, tests in zip(answers, results, strict=False)
        if (failed := _failed(tests))
    )
    doubtful = {failed.test for alarm in alarms for failed in alarm.tests}
    mistakes: list[TestedMistake] = []
    for mistake, tests in zip(drawn, results[len(answers) :], strict=True):
        caught_by = tuple(each.test for each in _failed(tests) if each.test not in doubtful)
        mistakes.append(TestedMistake(mistake, references.mistakes[mistake].says, caught_by))
    return replace(report, false_alarms=alarms, mistakes=tuple(mistakes))


def _has_names(references: PatchedReferences, answer: OtherAnswer) -> bool:
    """Return whether a right answer stores all layers of the task, so that a test can set them."""
    names = [name.split(".") for name in references.case_set.prepared[0].parameters]
    layers = {part for parts in names for part in parts[:-1] if not part.isdigit()}
    stored = {
        node.attr
        for node in ast.walk(ast.parse(answer.source))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return layers <= stored


def _drawn_mistakes(references: PatchedReferences, random: Random) -> list[str]:
    """Draw mistakes that change a result or raise an exception, of each twins only one."""
    candidates = [mistake for mistake in references.mistakes.values() if not mistake.contrived]
    random.shuffle(candidates)
    drawn: list[str] = []
    for mistake in candidates:
        is_new = not any(
            other in mistake.twins or mistake.id in references.mistakes[other].twins
            for other in drawn
        )
        if is_new and _changes_results(references, mistake.id):
            drawn.append(mistake.id)
        if len(drawn) == _MOST_MISTAKES:
            break
    return drawn


def _changes_results(references: PatchedReferences, mistake: str) -> bool:
    """Return whether a mistake changes a result, a gradient, an exception or a refusal."""
    if references.refusals((mistake,)) != references.refusals(()):
        return True
    by_check: dict[str, int] = {}
    for index, case in enumerate(references.case_set.cases):
        if case.probe is None:
            by_check.setdefault(case.check, index)
            behaviour = references.behaviour((mistake,), index)
            if not are_alike(behaviour, references.behaviour((), index), case.dtype):
                return True
    _, report = references.graded((mistake,), tuple(by_check.values()))
    return any(outcome.status == "failed" for outcome in report.outcomes)


def _run(
    workers: Workers, request: Request, sources: Sequence[str], submission: Submission
) -> tuple[list[Results], WorkerResult]:
    """Return the results of the tests on each implementation, and the end of the last worker.

    There are no further results if the tests do not come to an end on the reference.
    """
    results: list[Results] = []
    while True:
        left = msgspec.structs.replace(request, implementations=list(sources[len(results) :]))
        ended = workers.run_request(left, submission)
        runs = (ended.reply.runs or ended.partial)[: len(left.implementations)]
        results += [run.tests for run in runs]
        # If the worker ended after some results, its time may have been over for this reason alone.
        if not runs:
            results.append(None)
        if len(results) == len(sources) or results[0] is None:
            return results, ended


def _failed(tests: Results) -> tuple[FailedTest, ...]:
    """Return the tests that failed. A failure without a name is about the whole file."""
    if tests is None:
        return (FailedTest(_FILE, "the tests did not come to an end", 0),)
    return tuple(
        FailedTest(test.name or _FILE, _in_one_line(test.failure), test.line)
        for test in tests
        if test.failure
    )


def _in_one_line(failure: str) -> str:
    """Return the first lines of an exception: the numbers of a comparison of tensors follow."""
    lines = [line.strip() for line in failure.splitlines() if line.strip()]
    return cap("; ".join(lines[:_MOST_LINES]), _MOST_CHARACTERS)


def _trouble(tests: Results, ended: WorkerResult, limits: Limits) -> str:
    """Return why no test ran on the reference."""
    if tests is None and ended.how == "timeout":
        return f"with the reference, they took more than {limits.seconds:g} seconds of CPU time"
    if tests is None:
        return f"with the reference, {ended.reason}"
    if failed := _failed(tests):
        place = f"line {failed[0].line}: " if failed[0].line else ""
        return place + failed[0].failure
    if tests:
        return "all tests are skipped"
    return "the file has no test: a test is a function whose name begins with `test_`"
