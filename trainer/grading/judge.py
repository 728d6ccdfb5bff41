"""Run all checks on a submission in order, and make the report with the verdict.

A check is skipped if a check that it needs has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from trainer.grading import checks_counted, checks_load, checks_values
from trainer.grading.comparison import CaseResult, Comparison
from trainer.grading.due_checks import due_cases, is_due
from trainer.grading.pictures import with_pictures
from trainer.grading.sudden_end import sudden_end
from trainer.model.checks import CHECK_ORDER, Status, Verdict, status_of_each
from trainer.model.report import Outcome, Report
from trainer.worker.protocol import cap

Check = Callable[[Comparison], Iterator[Outcome]]

CHECKS: dict[str, Check] = {
    "loads": checks_load.loads,
    "interface": checks_load.interface,
    "parameters": checks_load.parameters,
    "runs": checks_values.runs,
    "shapes": checks_values.shapes,
    "dtype": checks_values.dtype,
    "values": checks_values.values,
    "masks": checks_values.masks,
    "gradients": checks_values.gradients,
    "train/eval": checks_values.train_eval,
    "properties": checks_values.properties,
    "bad sizes": checks_load.bad_sizes,
    "from scratch": checks_counted.from_scratch,
    "vectorised": checks_counted.vectorised,
    "memory": checks_counted.memory,
    "work": checks_counted.work,
}
assert tuple(CHECKS) == CHECK_ORDER

# The checks that each check needs. If one of them failed, the check is not made. A check on cases
# also leaves out single cases that did not run or that already have wrong values.
NEEDS: dict[str, tuple[str, ...]] = {
    "interface": ("loads",),
    "parameters": ("interface",),
    "runs": ("interface", "parameters"),
    "shapes": ("interface", "parameters"),
    "dtype": ("interface", "parameters"),
    "values": ("interface", "parameters"),
    "masks": ("values",),
    "gradients": ("values", "shapes"),
    "train/eval": ("values",),
    "properties": ("values", "masks"),
    "bad sizes": ("interface",),
    "vectorised": ("interface", "parameters"),
    "memory": ("values",),
    "work": ("values",),
}


def judge(comparison: Comparison, file: str, elapsed_seconds: float) -> Report:
    """Make all checks on one submission and return the report.

    Args:
        comparison: the results of the submission.
        file: the name of the file, for the report.
        elapsed_seconds: the duration of grading, for the report.
    """
    outcomes = sudden_end(comparison)
    if outcomes is None:
        outcomes = [_with_cast(comparison, outcome) for outcome in _checked(comparison)]
    case_set = comparison.case_set
    outcomes = _with_explained(comparison, outcomes)
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
        notes=_notes(comparison),
        signatures=tuple(case_set.content.signatures),
    )


def _with_explained(comparison: Comparison, outcomes: list[Outcome]) -> list[Outcome]:
    """Return the outcomes, with pictures in the first failure of each check.

    The report explains one of these failures.
    """
    found: list[Outcome] = []
    seen: set[str] = set()
    for outcome in outcomes:
        if outcome.status == "failed" and outcome.check not in seen:
            seen.add(outcome.check)
            outcome = with_pictures(outcome, comparison)
        found.append(outcome)
    return found


def _checked(comparison: Comparison) -> list[Outcome]:
    """Return the outcomes of all checks that are due.

    A check is not made if a check that it needs failed. If a check that it needs was skipped, the
    check is made, because its failures are valid, but the check cannot pass.
    """
    outcomes: list[Outcome] = []
    status_by_check: dict[str, Status] = {}
    for name, check in CHECKS.items():
        due = is_due(comparison, name)
        failed = _needs_with(status_by_check, name, "failed")
        if failed:
            made = [Outcome(name, "skipped", f"needs {failed[0]}")] if due else []
            status_by_check[name] = "failed"  # a check that needs this check is not made either
        else:
            made = list(check(comparison))
            if due:
                skipped = _needs_with(status_by_check, name, "skipped")
                made = _with_gaps(comparison, name, made, skipped)
            status_by_check |= status_of_each((outcome.check, outcome.status) for outcome in made)
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


def _needs_with(status_by_check: dict[str, Status], check: str, status: Status) -> list[str]:
    """Return the checks that `check` needs and that have the given status."""
    return [need for need in NEEDS.get(check, ()) if status_by_check.get(need) == status]


def _with_gaps(
    comparison: Comparison, check: str, made: list[Outcome], skipped: list[str]
) -> list[Outcome]:
    """Return the outcomes of a check, with a skipped outcome if the check missed some cases.

    Args:
        comparison: the results of the submission.
        check: the name of the check.
        made: the outcomes of the check itself.
        skipped: the skipped checks that the check needs.
    """
    if any(outcome.status != "passed" for outcome in made):
        return made
    gap = _gap(comparison, check, made)
    if not gap and made and not skipped:
        return made
    reason = gap or (f"needs {skipped[0]}" if skipped else "no case got that far")
    if any(outcome.number is not None for outcome in made):
        return [*made, Outcome(check, "skipped", reason)]
    # The outcome of this check is about the whole file, but the check has not seen the whole file.
    return [Outcome(check, "skipped", reason) for _ in made or (None,)]


def _gap(comparison: Comparison, check: str, made: list[Outcome]) -> str:
    """Return words for the cases that a check did not look at; "" if the check missed no case."""
    due = due_cases(comparison, check)
    results = comparison.results
    if check == "bad sizes":
        is_module = comparison.case_set.challenge.kind == "module"
        raised = [result for result in results if _raised_early(result, is_module)]
        if not raised:
            return ""
        name = "the constructor" if is_module else "the function"
        return f"{name} raises in {len(raised)} of {len(due)} cases with valid sizes"
    run = {result.index for result in results if _has_run(result)}
    if check == "parameters":
        looked_at = {result.index for result in results if result.reply.parameters}
    elif check == "from scratch":
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


def _has_run(result: CaseResult) -> bool:
    return result.reply.failure is None and not result.reply.unassigned


def _raised_early(result: CaseResult, is_module: bool) -> bool:
    """Return whether the constructor, or a function, raised an exception in this case."""
    failure = result.reply.failure
    return failure is not None and (failure.phase == "construct" or not is_module)


def _verdict(comparison: Comparison, outcomes: list[Outcome]) -> Verdict:
    result = comparison.worker_result
    if result.how == "timeout":
        return "timeout"
    failures = [result.reply.load_failure, *(run.failure for run in result.reply.runs)]
    short_of_memory = [failure for failure in failures if failure and failure.out_of_memory]
    if result.out_of_memory or short_of_memory:
        return "memory"
    failed = {outcome.check for outcome in outcomes if outcome.status == "failed"}
    if "from scratch" in failed or checks_counted.tampered(comparison):
        return "not-allowed"
    if result.how != "replied" or failed & {"loads", "runs"}:
        return "error"
    if failed:
        return "failed"
    # Nothing failed, but a pass needs more: every due check must have passed.
    statuses = status_of_each((outcome.check, outcome.status) for outcome in outcomes)
    due = (name for name in CHECK_ORDER if is_due(comparison, name))
    return "passed" if all(statuses.get(name) == "passed" for name in due) else "failed"


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


def _notes(comparison: Comparison) -> tuple[str, ...]:
    notes = list(checks_load.other_names(comparison))
    if comparison.results:
        outcomes = checks_load.parameters(comparison)
        notes += [made.message for made in outcomes if made.status == "passed" and made.message]
    return tuple(notes)
