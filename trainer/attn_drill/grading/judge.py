"""Run all checks on a submission in order, and make the report with the verdict.

A check is skipped if a check that it needs has failed. Only for points, `shares` counts how much of
each check is right; it skips none.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from attn_drill.grading import _checks_run, checks_load
from attn_drill.grading._reference import PreparedCase
from attn_drill.grading.checks_load import sudden_end
from attn_drill.grading.comparison import CaseResult, Comparison
from attn_drill.grading.pictures import with_pictures
from attn_drill.model.checks import CHECK_ORDER, Status, Verdict, status_of_each
from attn_drill.model.report import Outcome, Report
from attn_drill.worker.protocol import CallFailure, RunReply, cap
from attn_drill.worker.returns import NOTHING

_ON_CASES = ("interface", "parameters")
# A trivial answer also has some right values. These checks count only beyond the best of them.
_BEYOND_TRIVIAL = ("values", "masks", "train/eval", "properties")
# These checks look at values, so a case with several outputs counts by its right outputs.
_BY_OUTPUT = ("values", "masks")
_PARSE_ERRORS = ("SyntaxError", "IndentationError", "TabError")
_PLACEHOLDER = re.compile(r"\braise\s+NotImplementedError\b")


def _is_module(comparison: Comparison) -> bool:
    return comparison.case_set.challenge.kind == "module"


@dataclass(frozen=True)
class Check:
    """One row of the table of checks."""

    name: str
    run: Callable[[Comparison], Iterator[Outcome]]  # makes the check and yields its outcomes
    # The checks that must not have failed before. A check on cases also leaves out single cases
    # that did not run or that already have wrong values.
    needs: tuple[str, ...] = ()
    # Whether the check must have looked at a case before it can pass; None for all cases. A check
    # that looks at some cases is due if there is such a case.
    looks_at: Callable[[PreparedCase], bool] | None = None
    # A further condition on which the check is due.
    due: Callable[[Comparison], bool] = lambda comparison: True
    is_about_file: bool = False  # whether the check looks at no case at all

    def cases(self, comparison: Comparison) -> set[int]:
        """Return the indices of the graded cases that the check must look at."""
        if self.is_about_file:
            return set()
        return {
            index
            for index, prepared in enumerate(comparison.case_set.prepared)
            if comparison.case_index in (None, index)
            and (self.looks_at is None or self.looks_at(prepared))
        }

    def is_due(self, comparison: Comparison) -> bool:
        """Return whether the graded cases of the challenge give the check something to look at."""
        has_cases = self.looks_at is None or bool(self.cases(comparison))
        return has_cases and self.due(comparison)


CHECKS = (
    Check("loads", checks_load.loads, is_about_file=True),
    Check("interface", checks_load.interface, ("loads",), is_about_file=True),
    Check("parameters", checks_load.parameters, ("interface",), due=_is_module),
    Check("runs", _checks_run.runs, _ON_CASES),
    Check("shapes", _checks_run.shapes, _ON_CASES),
    Check("dtype", _checks_run.dtype, _ON_CASES),
    Check(
        "values",
        _checks_run.values,
        needs=_ON_CASES,
        looks_at=lambda prepared: prepared.case.check == "values" and prepared.case.dropout is None,
    ),
    Check(
        "masks",
        _checks_run.masks,
        needs=("values",),
        looks_at=lambda prepared: prepared.case.check == "masks" and prepared.case.dropout is None,
    ),
    Check(
        "gradients",
        _checks_run.gradients,
        needs=("values", "shapes"),
        looks_at=lambda prepared: bool(prepared.expected.gradients),
    ),
    Check(
        "train/eval",
        _checks_run.train_eval,
        needs=("values",),
        looks_at=lambda prepared: (
            prepared.case.check == "train/eval" or prepared.case.dropout is not None
        ),
    ),
    Check(
        "properties",
        _checks_run.properties,
        needs=("values", "masks"),
        looks_at=lambda prepared: not prepared.case.probe and prepared.case.dropout is None,
    ),
    Check(
        "defaults",
        checks_load.defaults,
        needs=("interface",),
        due=checks_load.has_defaults,
        is_about_file=True,
    ),
    Check(
        "bad sizes",
        checks_load.bad_sizes,
        needs=("interface",),
        due=lambda comparison: bool(comparison.case_set.refusals) and comparison.case_index is None,
    ),
    Check("from scratch", _checks_run.from_scratch),
    Check(
        "vectorised",
        _checks_run.vectorised,
        needs=_ON_CASES,
        looks_at=lambda prepared: prepared.smaller is not None,  # the larger case counts for both
        due=lambda comparison: comparison.case_index is None,
    ),
    Check(
        "memory",
        _checks_run.memory,
        needs=("values",),
        looks_at=lambda prepared: (
            prepared.case.probe in ("memory", "held") and prepared.case.limit is not None
        ),
    ),
    Check(
        "work",
        _checks_run.work,
        needs=("values",),
        looks_at=lambda prepared: prepared.case.probe == "work" and prepared.case.limit is not None,
    ),
)
assert tuple(check.name for check in CHECKS) == CHECK_ORDER, "see WEIGHTS in model/checks.py"


def due_checks(comparison: Comparison) -> list[str]:
    """Return the names of the checks that are due, in order."""
    return [check.name for check in CHECKS if check.is_due(comparison)]


def judge(comparison: Comparison, file: str, elapsed_seconds: float) -> Report:
    """Make all checks on one submission and return the report about the file."""
    outcomes = sudden_end(comparison, due_checks(comparison))
    if outcomes is None:
        outcomes = _checked(comparison)
    explained: set[str] = set()  # the report explains the first failure of one of these checks
    for index, outcome in enumerate(outcomes):
        if outcome.status == "failed" and outcome.check not in explained:
            explained.add(outcome.check)
            outcomes[index] = with_pictures(outcome, comparison)
    case_set = comparison.case_set
    return Report(
        challenge=case_set.challenge.id,
        file=cap(file),
        seed=case_set.seed,
        verdict=_verdict(comparison, outcomes),
        outcomes=tuple(outcomes),
        cases=case_set.cases,
        stdout=_stdout(comparison, outcomes),
        elapsed_seconds=elapsed_seconds,
        only_case=None if comparison.case_index is None else comparison.case_index + 1,
        notes=tuple(checks_load.notes(comparison)),
        signatures=tuple(case_set.content.signatures),
    )


def _checked(comparison: Comparison) -> list[Outcome]:
    """Return the outcomes of all checks that are due.

    A check is not made if a check that it needs failed. If a check that it needs was skipped, the
    check is made, because its failures are valid, but the check cannot pass.
    """
    outcomes: list[Outcome] = []
    blocked: set[str] = set()  # failed checks, and checks that need them
    statuses: dict[str, Status] = {}
    for check in CHECKS:
        is_due = check.is_due(comparison)
        if failed := [need for need in check.needs if need in blocked]:
            blocked.add(check.name)
            if is_due:
                outcomes.append(Outcome(check.name, "skipped", f"needs {failed[0]}"))
            continue
        of_check = list(check.run(comparison))
        if is_due and all(outcome.status == "passed" for outcome in of_check):
            skipped = [need for need in check.needs if statuses.get(need) == "skipped"]
            of_check = _with_gap(comparison, check, of_check, skipped)
        statuses |= status_of_each((outcome.check, outcome.status) for outcome in of_check)
        blocked |= {name for name, status in statuses.items() if status == "failed"}
        outcomes += of_check
    return outcomes


def _with_gap(
    comparison: Comparison, check: Check, passed: list[Outcome], skipped: Sequence[str]
) -> list[Outcome]:
    """Return passed outcomes, with a skipped outcome if the check did not look at everything."""
    reason = _gap(comparison, check, passed)
    if not reason and skipped:
        reason = f"needs {skipped[0]}"
    if not reason and not passed:
        reason = "no case got that far"
    if not reason:
        return passed
    gap = Outcome(check.name, "skipped", reason)
    if any(outcome.number is not None for outcome in passed):
        return [*passed, gap]
    # The outcomes are about the whole file, but the check has not seen the whole file.
    return [gap] * max(1, len(passed))


def _gap(comparison: Comparison, check: Check, passed: Sequence[Outcome]) -> str:
    """Return words for the cases that a check did not look at; "" if the check missed no case."""
    due = check.cases(comparison)
    results = comparison.results
    if check.name == "bad sizes":
        is_module = _is_module(comparison)
        failures = [result.reply.failure for result in results if result.reply.failure]
        raised = [early for early in failures if early.phase == "construct" or not is_module]
        if not raised:
            return ""
        name = "the constructor" if is_module else "the function"
        return f"{name} raises in {len(raised)} of {len(due)} cases with valid sizes"
    run = {result.index for result in results if result.has_run}
    if check.name == "parameters":
        looked_at = {result.index for result in results if result.reply.parameters}
    elif check.name == "from scratch":
        looked_at = run
    else:
        looked_at = {outcome.number - 1 for outcome in passed if outcome.number is not None}
    missing = due - looked_at
    parts = []
    if not_run := missing - run:
        parts.append(f"{len(not_run)} of {len(due)} cases did not run")
    if wrong := missing & run:
        parts.append(f"{len(wrong)} of {len(due)} cases gave no right output and were not checked")
    return "; ".join(parts)


def _verdict(comparison: Comparison, outcomes: list[Outcome]) -> Verdict:
    result = comparison.worker_result
    if result.how == "timeout":
        return "timeout"
    failures = [result.reply.load_failure, *(run.failure for run in result.reply.runs)]
    short_of_memory = [failure for failure in failures if failure and failure.out_of_memory]
    if result.out_of_memory or short_of_memory:
        return "memory"
    statuses = status_of_each((outcome.check, outcome.status) for outcome in outcomes)
    if statuses.get("from scratch") == "failed":
        return "not-allowed"
    if result.how != "replied" or "failed" in (statuses.get("loads"), statuses.get("runs")):
        return "error"
    # It is not enough that nothing failed: every due check must have passed.
    is_complete = all(statuses.get(name) == "passed" for name in due_checks(comparison))
    return "passed" if is_complete and "failed" not in statuses.values() else "failed"


def _stdout(comparison: Comparison, outcomes: list[Outcome]) -> str:
    """Return the text printed during import and in the first failed case, or in the first case."""
    # A print in `forward` would be shown thirty times if the text of all cases were returned.
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    first = min(failed, key=lambda outcome: CHECK_ORDER.index(outcome.check), default=None)
    number = 1 if first is None else first.number or 1
    result = comparison.worker_result
    text = result.printed.get("import", "") + result.printed.get(str(number - 1), "")
    if result.flooded:
        text += f"\n… {result.flooded:,} more bytes were printed and are not shown"
    return text


def shares(comparison: Comparison) -> dict[str, float]:
    """Return the share of each due check that is right, 0 to 1, in the order of the checks.

    Each case counts for itself: a crash or a wrong shape costs the cases and the outputs in which
    it happens, and no check waits for another check.
    """
    trivial = comparison.case_set.trivial_credits
    by_check: dict[str, float] = {}
    for check in CHECKS:
        if check.is_due(comparison):
            right = _right_share(comparison, check)
            if check.name in _BEYOND_TRIVIAL:
                cases = check.cases(comparison)
                base = max(fmean(credits[case] for case in cases) for credits in trivial.values())
                right = max(0.0, (right - base) / (1 - base)) if base < 1 else right
            by_check[check.name] = right
    return by_check


def _right_share(comparison: Comparison, check: Check) -> float:
    """Return the share of a check's cases that are right, or of its outcomes without a case."""
    if check.name in _BY_OUTPUT:
        right = {result.index: _right_outputs(comparison, result) for result in comparison.results}
        return fmean(right.get(case, 0.0) for case in check.cases(comparison))
    outcomes = list(check.run(comparison))
    by_case: dict[int | None, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        by_case[outcome.number].append(outcome.status == "passed")
    if None in by_case:
        return fmean(outcome.status == "passed" for outcome in outcomes)
    due = {case + 1 for case in check.cases(comparison)} | by_case.keys()
    return sum(fmean(passed) for passed in by_case.values()) / len(due) if due else 0.0


def _right_outputs(comparison: Comparison, result: CaseResult) -> float:
    """Return the share of the outputs of a case that are right."""
    if not result.has_run:
        return 0.0
    count = len(result.expected.outputs) + len(result.expected.plain)
    return 1 - len(result.wrong_outputs()) / count


def unfinished(comparison: Comparison, source: str) -> str:
    """Return why a file is unfinished, or "": "does not parse: line 12, invalid syntax"."""
    reply = comparison.reply
    if comparison.worker_result.how == "timeout":  # it ran
        return ""
    failure = reply.load_failure
    if failure is not None and failure.type in _PARSE_ERRORS:
        last = failure.frames[-1] if failure.frames else None
        # A SyntaxError that a function raised at run time is not a parse error of the file.
        if last is None or not last.function:
            place = f"line {last.line}, " if last and last.line else ""
            return f"does not parse: {place}{failure.message.strip()}"
    required = [signature.name for signature in comparison.case_set.content.signatures]
    missing = [name for name, kind in reply.not_callable.items() if kind == "missing"]
    if reply.signatures:  # the file was loaded and its callables were inspected
        missing += [name for name in required if name not in reply.signatures]
        missing += _methods_of_torch(comparison)
    if missing:
        return f"is not finished: {missing[0]} is missing"
    failures = [reply.load_failure]
    for run in reply.runs:
        failures += [run.failure, *(call.failure for call in run.calls)]
    raised = [_not_implemented(failure) for failure in failures if failure is not None]
    for words in (*_placeholders(source, required), *raised):
        if words:
            return f"is not finished: {words}"
    return "is not finished: it returns nothing yet" if _returns_nothing(comparison) else ""


def _not_implemented(failure: CallFailure) -> str:
    """Return words for the function that raises NotImplementedError itself, or "".

    torch also raises NotImplementedError, for other reasons.
    """
    last = failure.frames[-1] if failure.frames else None
    if failure.type != "NotImplementedError" or last is None or not _PLACEHOLDER.search(last.text):
        return ""
    subject = "the file" if last.function in ("", "<module>") else last.function
    return f"{subject} raises NotImplementedError (line {last.line})"


def _placeholders(source: str, required: Collection[str]) -> Iterator[str]:
    """Yield words for each required callable that is empty or ends with the stub's placeholder.

    A run does not find all of them: if the constructor lacks a layer, `forward` is never called.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
            functions |= {f"{owner.name}.{node.name}": node for node in methods}
    for function in (functions[name] for name in required if name in functions):
        last = function.body[-1]
        returns = any(isinstance(node, ast.Return) for node in ast.walk(function))
        if isinstance(last, ast.Raise) and _PLACEHOLDER.match(ast.unparse(last)) and not returns:
            yield f"{function.name} raises NotImplementedError (line {last.lineno})"
        if all(map(_does_nothing, function.body)):
            yield f"{function.name} is empty"


def _does_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is `pass`, `...` or a text alone."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass)


def _methods_of_torch(comparison: Comparison) -> Iterator[str]:
    """Yield the method of the class that the first case needs and that only nn.Module has."""
    reply, entry = comparison.reply, comparison.case_set.challenge.entry[0]
    failure = reply.runs[0].failure if reply.runs else None
    if failure is None or failure.frames:
        return
    if 'is missing the required "forward" function' in failure.message:
        yield f"{entry}.forward"
    arguments = reply.signatures.get(f"{entry}.__init__") or ()
    takes_anything = bool(arguments) and all(have.kind.startswith("VAR_") for have in arguments)
    if failure.phase == "construct" and failure.type == "TypeError" and takes_anything:
        yield f"{entry}.__init__"


def _returns_nothing(comparison: Comparison) -> bool:
    """Return whether the first case returned None."""
    run = next(iter(comparison.reply.runs), RunReply())
    if run.failure is not None:
        return run.failure.type == "UnexpectedReturnError" and NOTHING in run.failure.message
    returned = run.outputs.values()
    return bool(returned) and all(output.description == NOTHING for output in returned)
