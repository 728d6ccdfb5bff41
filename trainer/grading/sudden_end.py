"""Make the outcomes of a submission whose worker did not send a complete reply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trainer.grading.comparison import Comparison
from trainer.model.limits import SLEEP_FACTOR
from trainer.model.report import Outcome
from trainer.worker.worker_client import WorkerResult

RAISE_MEMORY = "`--memory-limit` raises the limit"
_RAISE_TIME = "`--time-limit` raises the limit"


def sudden_end(comparison: Comparison, due: Iterable[str]) -> list[Outcome] | None:
    """Return the outcomes if the worker did not send a complete reply, else None.

    The failed outcome has the last step of the worker and the way in which the worker ended.
    """
    result, case_set = comparison.worker_result, comparison.case_set
    if result.how == "replied" and _is_complete(comparison):
        return None
    how, frames = _how_it_ended(comparison), result.frames
    step, cases, refusals = result.last_note, case_set.cases, case_set.refusals
    if step is None or step < 0:
        message = f"while the file was imported: {how}"
        failed = Outcome("loads", "failed", message, frames=frames, advice=_advice(comparison))
        return [failed, *_rest(due, "loads")]
    if step < len(cases):
        failed = Outcome("runs", "failed", how, cases[step].name, step + 1, frames=frames)
    elif step < len(cases) + len(refusals):
        refusal = refusals[step - len(cases)]
        call = refusal.call or case_set.challenge.entry[0]
        message = f"while {call} was called with bad sizes ({refusal.why}): {how}"
        failed = Outcome("bad sizes", "failed", message)
    else:
        failed = Outcome("runs", "failed", how, frames=frames)
    failed = replace(failed, advice=_advice(comparison))
    return [Outcome("loads", "passed"), failed, *_rest(due, failed.check)]


def _is_complete(comparison: Comparison) -> bool:
    reply = comparison.reply
    if reply.load_failure is not None or reply.not_callable:
        return True
    return len(reply.runs) == len(comparison.case_set.cases)


def _how_it_ended(comparison: Comparison) -> str:
    result = comparison.worker_result
    line = f" at line {result.frames[-1].line}" if result.frames else ""
    if result.how == "timeout":
        return f"still running at the time limit{line}: {comparison.loop or _how_long(result)}"
    if result.how == "died":
        return f"{result.reason}{line}"
    reason = result.reason or "an incomplete reply"
    return f"the process did not send a valid result ({reason})"


def _advice(comparison: Comparison) -> str:
    """Return words about the option that raises the limit which ended the worker, or ""."""
    result = comparison.worker_result
    if result.how == "timeout" and not (comparison.loop or result.slept):
        return _RAISE_TIME
    return RAISE_MEMORY if result.how == "died" and result.out_of_memory else ""


def _how_long(result: WorkerResult) -> str:
    """Return words for the time limit that was reached."""
    if result.slept:
        seconds = SLEEP_FACTOR * result.seconds
        return f"it slept and gave no answer in {seconds:g} s; it must not wait for anything"
    return f"it used {result.seconds:g} s of CPU time"


def _rest(due: Iterable[str], failed: str) -> list[Outcome]:
    """Return skipped outcomes for all other checks that are due."""
    return [
        Outcome(check, "skipped", f"needs {failed}")
        for check in due
        if check not in ("loads", failed)
    ]
