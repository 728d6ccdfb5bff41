"""The judge: all checks in order, a later one skipped where what it needs failed; then the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from trainer.core.report import Frame, Outcome, Report
from trainer.core.words import CHECK_ORDER, Status, Verdict, status_of_each
from trainer.grading import checks_counted, checks_load, checks_values
from trainer.grading.evidence import CaseEvidence, Evidence
from trainer.running.nursery import SLEEP_FACTOR
from trainer.running.protocol import cap
from trainer.running.run import Ended

Check = Callable[[Evidence], Iterator[Outcome]]

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

# A check that needs a failed one is not made. Checks on cases leave out single cases that did not run or are wrong already.
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


def judge(evidence: Evidence, file: str, elapsed_seconds: float) -> Report:
    """Make all checks on one submission."""
    outcomes = _sudden_end(evidence) or [_with_cast(evidence, one) for one in _checked(evidence)]
    return Report(
        challenge=evidence.exam.challenge.id,
        file=cap(file),
        seed=evidence.exam.seed,
        verdict=_verdict(evidence, outcomes),
        outcomes=tuple(outcomes),
        cases=evidence.exam.cases,
        stdout=_stdout(evidence, outcomes),
        elapsed_seconds=elapsed_seconds,
        only_case=None if evidence.only is None else evidence.only + 1,
        notes=_notes(evidence),
    )


def _checked(evidence: Evidence) -> list[Outcome]:
    """Make every check that is due.

    A check whose need failed is not made. A check whose need was skipped is made, because its
    failures are true, but it does not pass.
    """
    outcomes: list[Outcome] = []
    status_by_check: dict[str, Status] = {}
    for name, check in CHECKS.items():
        due = _is_due(evidence, name)
        failed = _needs_with(status_by_check, name, "failed")
        if failed:
            made = [Outcome(name, "skipped", f"needs {failed[0]}")] if due else []
            status_by_check[name] = "failed"  # a check that needs this check is not made either
        else:
            made = list(check(evidence))
            if due:
                made = _with_gaps(
                    evidence, name, made, _needs_with(status_by_check, name, "skipped")
                )
            status_by_check |= status_of_each((outcome.check, outcome.status) for outcome in made)
        outcomes.extend(made)
    return outcomes


def _with_cast(evidence: Evidence, outcome: Outcome) -> Outcome:
    """Return the outcome of a case; if it failed and the cast cost a buffer its angles, it says so."""
    if outcome.status != "failed" or outcome.number is None:
        return outcome
    case = next((case for case in evidence.cases if case.number == outcome.number - 1), None)
    if case is None or not case.told.lost:
        return outcome
    names = ", ".join(case.told.lost)
    said = (
        f"the buffer {names} lost its imaginary part when the module was cast to {case.case.dtype}: "
        "keep it as cos and sin, as a plain attribute, or compute it in forward"
    )
    return replace(outcome, message=f"{outcome.message}; {said}")


def _needs_with(status_by_check: dict[str, Status], check: str, status: Status) -> list[str]:
    """Return the checks that `check` needs and that have this status."""
    return [need for need in NEEDS.get(check, ()) if status_by_check.get(need) == status]


def _with_gaps(
    evidence: Evidence, check: str, made: list[Outcome], skipped: list[str]
) -> list[Outcome]:
    """Return the outcomes of a check so that it passes only if it looked at all its cases.

    Args:
        made: the outcomes of the check itself.
        skipped: the checks that it needs and that were skipped.
    """
    if any(outcome.status != "passed" for outcome in made):
        return made
    gap = _gap(evidence, check, made)
    if not gap and made and not skipped:
        return made
    reason = gap or (f"needs {skipped[0]}" if skipped else "no case got that far")
    if any(outcome.number is not None for outcome in made):
        return [*made, Outcome(check, "skipped", reason)]
    # The check speaks of the whole file: what it says does not hold for the whole file.
    return [Outcome(check, "skipped", reason) for _ in made or (None,)]


def _gap(evidence: Evidence, check: str, made: list[Outcome]) -> str:
    """Return in words how many cases of a check were not looked at; "" if none is missing."""
    due = _cases_due(evidence, check)
    run = {case.number for case in evidence.cases if _has_run(case)}
    if check == "bad sizes":
        raised = {case.number for case in evidence.cases if _raised_early(case)}
        raises = f"the constructor raises in {len(raised)} of {len(due)} cases whose sizes can work"
        return raises if raised else ""
    if check == "parameters":
        looked_at = {case.number for case in evidence.cases if case.told.parameters}
    elif check == "from scratch":
        looked_at = run
    else:
        looked_at = {outcome.number - 1 for outcome in made if outcome.number is not None}
    missing = due - looked_at
    parts = []
    if not_run := missing - run:
        parts.append(f"{len(not_run)} of {len(due)} cases did not run")
    if wrong := missing & run:
        parts.append(
            f"{len(wrong)} of {len(due)} cases gave no right output, so it was not checked"
        )
    return "; ".join(parts)


def _has_run(case: CaseEvidence) -> bool:
    return case.told.failure is None and not case.told.unassigned


def _raised_early(case: CaseEvidence) -> bool:
    """Return whether the constructor of a case raised."""
    return case.told.failure is not None and case.told.failure.phase == "construct"


def _cases_due(evidence: Evidence, check: str) -> set[int]:
    """Return the cases (counted from 0) that a check must have looked at before it can pass."""
    exam = evidence.exam
    cases = {
        number: case for number, case in enumerate(exam.cases) if evidence.only in (None, number)
    }
    match check:
        case "values" | "masks":
            return {n for n, case in cases.items() if case.check == check and case.dropout is None}
        case "train/eval":
            return {
                n for n, case in cases.items() if case.check == check or case.dropout is not None
            }
        case "gradients":
            return {n for n in cases if exam.expected[n].gradients}
        case "properties":
            return {n for n, case in cases.items() if not case.probe and case.dropout is None}
        case "vectorised":  # the larger case of a pair speaks for both
            return set([n for n, case in cases.items() if case.probe == check][1::2])
        case "memory" | "work":
            return {
                n for n, case in cases.items() if case.probe == check and case.limit is not None
            }
        case "loads" | "interface":
            return set()
    return set(cases)


def _is_due(evidence: Evidence, check: str) -> bool:
    """Whether the challenge has anything for this check to look at."""
    exam = evidence.exam
    cases = [case for number, case in enumerate(exam.cases) if evidence.only in (None, number)]
    match check:
        case "parameters":
            return exam.challenge.kind == "module"
        case "values" | "masks" | "train/eval":
            return any(one.check == check for one in cases)
        case "gradients":
            return any(
                exam.differentiable(number)
                for number in range(len(exam.cases))
                if evidence.only in (None, number)
            )
        case "bad sizes":
            return bool(exam.refusals) and evidence.only is None
        case "memory":
            return any(one.probe in ("memory", "held") for one in cases)
        case "vectorised" | "work":
            return any(one.probe == check for one in cases) and (
                check != "vectorised" or evidence.only is None
            )
    return True


def _sudden_end(evidence: Evidence) -> list[Outcome]:
    """The outcomes where the worker gave no reply: what it was at, and how it ended."""
    ended = evidence.ended
    exam = evidence.exam
    complete = (
        ended.reply.load_failure is not None
        or ended.reply.not_callable
        or len(ended.reply.runs) == len(exam.cases)
    )
    if ended.how == "replied" and complete:
        return []
    line = ended.frames[-1] if ended.frames else None
    at = f" at line {line.line}" if line else ""
    if ended.how == "timeout":
        what = f"still running at the time limit{at}: {evidence.loop or _how_long(ended)}"
    elif ended.how == "died":
        what = f"{ended.reason}{at}"
    else:
        what = f"the process sent something that is no result ({ended.reason or 'an incomplete reply'})"
    number = ended.last_note
    frames: tuple[Frame, ...] = ended.frames
    if number is None or number < 0:
        return [
            Outcome("loads", "failed", f"while the file was imported: {what}", frames=frames),
            *_rest(evidence, "loads"),
        ]
    if number >= len(exam.cases) + len(exam.refusals):
        return [
            Outcome("loads", "passed"),
            Outcome("runs", "failed", what, frames=frames),
            *_rest(evidence, "runs"),
        ]
    if number >= len(exam.cases):
        why = exam.refusals[number - len(exam.cases)].why
        text = f"while the constructor was to refuse bad sizes ({why}): {what}"
        return [
            Outcome("loads", "passed"),
            Outcome("bad sizes", "failed", text),
            *_rest(evidence, "bad sizes"),
        ]
    case = exam.cases[number]
    return [
        Outcome("loads", "passed"),
        Outcome("runs", "failed", what, case.name, number + 1, frames=frames),
        *_rest(evidence, "runs"),
    ]


def _how_long(ended: Ended) -> str:
    """Say which time is over, and the next step."""
    if ended.slept:
        return f"it slept for {SLEEP_FACTOR * ended.seconds:g} s in all; an answer does not wait for anything"
    return f"it used {ended.seconds:g} s of CPU time; `--time-limit` raises the limit"


def _rest(evidence: Evidence, failed: str) -> list[Outcome]:
    """Everything else that was due: nothing is known of it."""
    return [
        Outcome(name, "skipped", f"needs {failed}")
        for name in CHECK_ORDER
        if name not in ("loads", failed) and _is_due(evidence, name)
    ]


def _verdict(evidence: Evidence, outcomes: list[Outcome]) -> Verdict:
    ended = evidence.ended
    failed = {outcome.check for outcome in outcomes if outcome.status == "failed"}
    if ended.how == "timeout":
        return "timeout"
    failures = [ended.reply.load_failure, *(told.failure for told in ended.reply.runs)]
    if ended.out_of_memory or any(
        failure is not None and failure.out_of_memory for failure in failures
    ):
        return "memory"
    if "from scratch" in failed or checks_counted.tampered(evidence):
        return "not-allowed"
    if ended.how != "replied" or failed & {"loads", "runs"}:
        return "error"
    if failed:
        return "failed"
    # Nothing failed, but a pass needs more: every due check must have passed.
    statuses = status_of_each((outcome.check, outcome.status) for outcome in outcomes)
    due = (name for name in CHECK_ORDER if _is_due(evidence, name))
    return "passed" if all(statuses.get(name) == "passed" for name in due) else "failed"


def _stdout(evidence: Evidence, outcomes: list[Outcome]) -> str:
    """What was printed on import and in the case that is explained (or the first), so that no print shows thirty times."""
    shown = min(
        (one for one in outcomes if one.status == "failed"),
        key=lambda one: CHECK_ORDER.index(one.check),
        default=None,
    )
    number = shown.number - 1 if shown is not None and shown.number is not None else 0
    printed = evidence.ended.printed
    text = printed.get("import", "") + printed.get(str(number), "")
    if evidence.ended.flooded:
        text += f"\n… {evidence.ended.flooded:,} bytes more were printed and are not shown"
    return text


def _notes(evidence: Evidence) -> tuple[str, ...]:
    passed = (
        [
            one.message
            for one in checks_load.parameters(evidence)
            if one.status == "passed" and one.message
        ]
        if evidence.cases
        else []
    )
    return (*checks_load.other_names(evidence), *passed)
