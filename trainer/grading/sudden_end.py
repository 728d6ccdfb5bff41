"""The outcomes of a submission whose worker gave no complete reply."""

from __future__ import annotations

from trainer.grading.comparison import Comparison
from trainer.grading.due_checks import is_due
from trainer.model.checks import CHECK_ORDER
from trainer.model.report import Outcome
from trainer.worker.forkserver import SLEEP_FACTOR
from trainer.worker.worker_client import WorkerResult


def sudden_end(comparison: Comparison) -> list[Outcome] | None:
    """Return the outcomes if the worker gave no complete reply: where it was, and how it ended."""
    ended, case_set = comparison.ended, comparison.case_set
    if ended.how == "replied" and _is_complete(comparison):
        return None
    how, frames = _how_it_ended(comparison), ended.frames
    step, cases, refusals = ended.last_note, case_set.cases, case_set.refusals
    if step is None or step < 0:
        message = f"while the file was imported: {how}"
        failed = Outcome("loads", "failed", message, frames=frames)
        return [failed, *_rest(comparison, "loads")]
    if step < len(cases):
        failed = Outcome("runs", "failed", how, cases[step].name, step + 1, frames=frames)
    elif step < len(cases) + len(refusals):
        why = refusals[step - len(cases)].why
        message = f"while the constructor was to refuse bad sizes ({why}): {how}"
        failed = Outcome("bad sizes", "failed", message)
    else:
        failed = Outcome("runs", "failed", how, frames=frames)
    return [Outcome("loads", "passed"), failed, *_rest(comparison, failed.check)]


def _is_complete(comparison: Comparison) -> bool:
    reply = comparison.reply
    if reply.load_failure is not None or reply.not_callable:
        return True
    return len(reply.runs) == len(comparison.case_set.cases)


def _how_it_ended(comparison: Comparison) -> str:
    ended = comparison.ended
    line = f" at line {ended.frames[-1].line}" if ended.frames else ""
    if ended.how == "timeout":
        return f"still running at the time limit{line}: {comparison.loop or _how_long(ended)}"
    if ended.how == "died":
        return f"{ended.reason}{line}"
    reason = ended.reason or "an incomplete reply"
    return f"the process sent something that is no result ({reason})"


def _how_long(ended: WorkerResult) -> str:
    """Return which time is over, and the next step."""
    if ended.slept:
        seconds = SLEEP_FACTOR * ended.seconds
        return f"it slept for {seconds:g} s in all; an answer does not wait for anything"
    return f"it used {ended.seconds:g} s of CPU time; `--time-limit` raises the limit"


def _rest(comparison: Comparison, failed: str) -> list[Outcome]:
    """Return the other checks that were due: nothing is known of them."""
    return [
        Outcome(check, "skipped", f"needs {failed}")
        for check in CHECK_ORDER
        if check not in ("loads", failed) and is_due(comparison, check)
    ]
