"""Run all checks on a submission in order, and make the report with the verdict.

A check is skipped if a check that it needs has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from attn_drill.grading import checks_counted, checks_load, checks_values
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.pictures import with_pictures
from attn_drill.grading.prepared_case import PreparedCase
from attn_drill.grading.sudden_end import sudden_end
from attn_drill.model.checks import CHECK_ORDER, Status, Verdict, status_of_each
from attn_drill.model.report import Outcome, Report
from attn_drill.worker.protocol import cap


def _all(prepared: PreparedCase) -> bool:
    return True


def _none(prepared: PreparedCase) -> bool:
    return False


def _is_about_values(check: str) -> Callable[[PreparedCase], bool]:
    return lambda prepared: prepared.case.check == check and prepared.case.dropout is None


def _has_dropout(prepared: PreparedCase) -> bool:
    return prepared.case.check == "train/eval" or prepared.case.dropout is not None


def _has_gradients(prepared: PreparedCase) -> bool:
    return bool(prepared.expected.gradients)


def _has_several_calls(prepared: PreparedCase) -> bool:
    return not prepared.case.probe and prepared.case.dropout is None


def _is_larger(prepared: PreparedCase) -> bool:
    """Return whether a case is the larger case of a growth probe. It counts for both cases."""
    return prepared.case.probe == "vectorised" and prepared.smaller is not None


def _has_memory_limit(prepared: PreparedCase) -> bool:
    return prepared.case.probe in ("memory", "held") and prepared.case.limit is not None


def _has_work_limit(prepared: PreparedCase) -> bool:
    return prepared.case.probe == "work" and prepared.case.limit is not None


def _is_module(comparison: Comparison) -> bool:
    return comparison.case_set.challenge.kind == "module"


def _has_defaults(comparison: Comparison) -> bool:
    signatures = comparison.case_set.content.signatures
    return any(want.has_known_default for each in signatures for want in each.parameters)


def _has_refusals(comparison: Comparison) -> bool:
    return bool(comparison.case_set.refusals) and comparison.only is None


def _grades_all_cases(comparison: Comparison) -> bool:
    return comparison.only is None


@dataclass(frozen=True)
class Check:
    """One row of the table of checks."""

    name: str  # the name of the check
    run: Callable[[Comparison], Iterator[Outcome]]  # makes the check and yields its outcomes
    # The checks that must not have failed before. A check on cases also leaves out single cases
    # that did not run or that already have wrong values.
    needs: tuple[str, ...] = ()
    # Whether the check must have looked at a case before it can pass. A check that looks at cases
    # is due if there is such a case.
    looks_at: Callable[[PreparedCase], bool] = _all
    # A further condition on which the check is due.
    due: Callable[[Comparison], bool] = lambda comparison: True

    def cases(self, comparison: Comparison) -> set[int]:
        """Return the indices of the graded cases that the check must look at."""
        return {
            index
            for index, prepared in enumerate(comparison.case_set.prepared)
            if comparison.only in (None, index) and self.looks_at(prepared)
        }

    def is_due(self, comparison: Comparison) -> bool:
        """Return whether the graded cases of the challenge give the check something to look at."""
        has_cases = self.looks_at in (_all, _none) or bool(self.cases(comparison))
        return has_cases and self.due(comparison)


_ON_CASES = ("interface", "parameters")
CHECKS = (
    Check("loads", checks_load.loads, looks_at=_none),
    Check("interface", checks_load.interface, ("loads",), looks_at=_none),
    Check("parameters", checks_load.parameters, ("interface",), due=_is_module),
    Check("runs", checks_values.runs, _ON_CASES),
    Check("shapes", checks_values.shapes, _ON_CASES),
    Check("dtype", checks_values.dtype, _ON_CASES),
    Check("values", checks_values.values, _ON_CASES, _is_about_values("values")),
    Check("masks", checks_values.masks, ("values",), _is_about_values("masks")),
    Check("gradients", checks_values.gradients, ("values", "shapes"), _has_gradients),
    Check("train/eval", checks_values.train_eval, ("values",), _has_dropout),
    Check("properties", checks_values.properties, ("values", "masks"), _has_several_calls),
    Check("defaults", checks_load.defaults, ("interface",), looks_at=_none, due=_has_defaults),
    Check("bad sizes", checks_load.bad_sizes, ("interface",), due=_has_refusals),
    Check("from scratch", checks_counted.from_scratch),
    Check("vectorised", checks_counted.vectorised, _ON_CASES, _is_larger, _grades_all_cases),
    Check("memory", checks_counted.memory, ("values",), _has_memory_limit),
    Check("work", checks_counted.work, ("values",), _has_work_limit),
)
assert tuple(check.name for check in CHECKS) == CHECK_ORDER


def due_checks(comparison: Comparison) -> list[str]:
    """Return the names of the checks that are due, in order."""
    return [check.name for check in CHECKS if check.is_due(comparison)]


def judge(comparison: Comparison, file: str, elapsed_seconds: float) -> Report:
    """Make all checks on one submission and return the report.

    Args:
        file: the name of the file, for the report.
        elapsed_seconds: the duration of grading, for the report.
    """
    outcomes = sudden_end(comparison, due_checks(comparison))
    if outcomes is None:
        outcomes = [_with_cast(comparison, outcome) for outcome in _checked(comparison)]
    explained: set[str] = set()  # the report explains the first failure of one of these checks
    for index, outcome in enumerate(outcomes):
        if outcome.status == "failed" and outcome.check not in explained:
            explained.add(outcome.check)
            outcomes[index] = with_pictures(outcome, comparison)
    notes = list(checks_load.other_names(comparison))
    if comparison.results:
        made = checks_load.parameters(comparison)
        notes += [each.message for each in made if each.status == "passed" and each.message]
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
        only_case=None if comparison.only is None else comparison.only + 1,
        notes=tuple(notes),
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
            made = [Outcome(check.name, "skipped", f"needs {failed[0]}")] if is_due else []
        else:
            made = list(check.run(comparison))
            if is_due:
                skipped = [need for need in check.needs if statuses.get(need) == "skipped"]
                made = _with_gaps(comparison, check, made, skipped)
            statuses |= status_of_each((outcome.check, outcome.status) for outcome in made)
            blocked |= {name for name, status in statuses.items() if status == "failed"}
        outcomes.extend(made)
    return outcomes


def _with_cast(comparison: Comparison, outcome: Outcome) -> Outcome:
    """Add advice to a failed case if the cast to its dtype cut off a buffer's imaginary part."""
    if outcome.status != "failed" or outcome.number is None:
        return outcome
    result = comparison.result_of(outcome.number - 1)
    if result is None or not result.reply.lost_imaginary:
        return outcome
    names = ", ".join(result.reply.lost_imaginary)
    advice = (
        f"the buffer {names} lost its imaginary part when the module was cast to "
        f"{result.case.dtype}: "
        "keep it as cos and sin, as a plain attribute, or compute it in forward"
    )
    return replace(outcome, message=f"{outcome.message}; {advice}")


def _with_gaps(
    comparison: Comparison, check: Check, made: list[Outcome], skipped: Collection[str]
) -> list[Outcome]:
    """Return the outcomes of a check, with a skipped outcome if the check missed some cases."""
    if any(outcome.status != "passed" for outcome in made):
        return made
    gap = _gap(comparison, check, made)
    if not gap and made and not skipped:
        return made
    reason = gap or (f"needs {next(iter(skipped))}" if skipped else "no case got that far")
    if any(outcome.number is not None for outcome in made):
        return [*made, Outcome(check.name, "skipped", reason)]
    # The outcome of this check is about the whole file, but the check has not seen the whole file.
    return [Outcome(check.name, "skipped", reason) for _ in made or (None,)]


def _gap(comparison: Comparison, check: Check, made: list[Outcome]) -> str:
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
        looked_at = {outcome.number - 1 for outcome in made if outcome.number is not None}
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
    failed = {outcome.check for outcome in outcomes if outcome.status == "failed"}
    if "from scratch" in failed:
        return "not-allowed"
    if result.how != "replied" or failed & {"loads", "runs"}:
        return "error"
    if failed:
        return "failed"
    # Nothing failed, but a pass needs more: every due check must have passed.
    statuses = status_of_each((outcome.check, outcome.status) for outcome in outcomes)
    is_complete = all(statuses.get(name) == "passed" for name in due_checks(comparison))
    return "passed" if is_complete else "failed"


def _stdout(comparison: Comparison, outcomes: list[Outcome]) -> str:
    """Return the text printed during import and in one case.

    The case is the first failed case, or the first case if no case failed. A print in `forward`
    would be shown thirty times if the text of all cases were returned.
    """
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    failed.sort(key=lambda outcome: CHECK_ORDER.index(outcome.check))
    explained = failed[0].number if failed else None
    printed = comparison.worker_result.printed
    text = printed.get("import", "") + printed.get(str((explained or 1) - 1), "")
    if comparison.worker_result.flooded:
        text += (
            f"\n… {comparison.worker_result.flooded:,} more bytes were printed and are not shown"
        )
    return text
