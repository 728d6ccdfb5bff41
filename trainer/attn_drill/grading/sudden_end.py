"""Make the outcomes of a submission whose worker did not send a complete reply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from attn_drill.grading.comparison import Comparison
from attn_drill.model.limits import SLEEP_FACTOR
from attn_drill.model.report import Outcome

RAISE_MEMORY = "`--memory-limit` raises the limit"


def sudden_end(comparison: Comparison, due: Iterable[str]) -> list[Outcome] | None:
    """Return the outcomes if the worker did not send a complete reply, else None.

    The failed outcome has the last step of the worker and the way in which the worker ended.
    """
    result, reply, case_set = comparison.worker_result, comparison.reply, comparison.case_set
    ran_no_case = reply.load_failure is not None or bool(reply.not_callable)
    is_complete = ran_no_case or len(reply.runs) == len(case_set.cases)
    if result.how == "replied" and is_complete:
        return None
    how, frames = _how_it_ended(comparison), result.frames
    step, cases, refusals = result.last_note, case_set.cases, case_set.refusals
    if step is None or step < 0:
        failed = Outcome("loads", "failed", f"while the file was imported: {how}", frames=frames)
    elif step < len(cases):
        failed = Outcome("runs", "failed", how, cases[step].name, step + 1, frames=frames)
    elif step < len(cases) + len(refusals):
        refusal = refusals[step - len(cases)]
        call = refusal.call or case_set.challenge.entry[0]
        message = f"while {call} was called with bad sizes ({refusal.why}): {how}"
        failed = Outcome("bad sizes", "failed", message)
    else:
        failed = Outcome("runs", "failed", how, frames=frames)
    if result.how == "timeout" and not (comparison.loop or result.slept):
        failed = replace(failed, advice="`--time-limit` raises the limit")
    if result.how == "died" and result.out_of_memory:
        failed = replace(failed, advice=RAISE_MEMORY)
    outcomes = [failed] if failed.check == "loads" else [Outcome("loads", "passed"), failed]
    for check in due:
        if check not in ("loads", failed.check):
            outcomes.append(Outcome(check, "skipped", f"needs {failed.check}"))
    return outcomes


def _how_it_ended(comparison: Comparison) -> str:
    result = comparison.worker_result
    line = f" at line {result.frames[-1].line}" if result.frames else ""
    if result.how == "timeout":
        words = comparison.loop or f"it used {result.seconds:g} s of CPU time"
        if result.slept:
            seconds = SLEEP_FACTOR * result.seconds
            words = f"it slept and gave no answer in {seconds:g} s; it must not wait for anything"
        return f"still running at the time limit{line}: {words}"
    if result.how == "died":
        return f"{result.reason}{line}"
    reason = result.reason or "an incomplete reply"
    return f"the process did not send a valid result ({reason})"
