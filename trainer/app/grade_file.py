"""Open a grader, grade a file, and record the attempt.

torch is imported only when a grader is opened.
"""

from __future__ import annotations

import gc
import importlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.app.open_packs import KnownPacks
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.model.submission import Submission
from trainer.practice.journal import Journal
from trainer.practice.record_attempt import Purpose, record_diagnosis, write_attempt

if TYPE_CHECKING:
    from trainer.diagnosis.repro_script import Repro
    from trainer.grading.grader import Grader, Judgement
    from trainer.model.lesson import Lesson
    from trainer.model.report import Report, Trace

MOST_SEED = (1 << 63) - 1
SECONDS = 10.0
MEMORY_MIB = 2048


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_limits(seconds: float, memory_mib: int) -> None:
    """Raise DrillError if the limits make no sense. `seconds` are CPU seconds."""
    if not 0 < seconds <= 86_400:
        raise DrillError(
            f"--time-limit is {seconds:g}; it must be more than 0 and at most 86400 seconds."
        )
    if not 16 <= memory_mib <= 1 << 20:
        raise DrillError(f"--memory-limit is {memory_mib}; it must be 16 to 1048576 MiB.")


def check_seed(seed: int) -> None:
    """Raise DrillError if no random generator takes this seed."""
    if not 0 <= seed <= MOST_SEED:
        raise DrillError(f"--seed is {seed}; it must be 0 to {MOST_SEED}.")


def check_system() -> None:
    """Raise GraderError if this system cannot fork a process."""
    if not hasattr(os, "fork"):
        raise GraderError(
            "Grading needs a system that can fork a process: "
            "Linux, macOS, or Windows' Linux subsystem (WSL)."
        )


def fresh_seed() -> int:
    """Return a random seed from 0 to 2**31 - 1."""
    return int.from_bytes(os.urandom(4), "little") >> 1


def last_seed(journal: Journal, challenge: Challenge) -> int:
    """Return the seed of the last attempt, or a fresh seed if there was no attempt."""
    seed = journal.last_seed(challenge.id)
    return fresh_seed() if seed is None else seed


def open_grader(
    known_packs: KnownPacks, seconds: float = SECONDS, memory_mib: int = MEMORY_MIB
) -> Grader:
    """Import torch and start a grader that hides all known packs from the submissions.

    Args:
        known_packs: the packs to hide.
        seconds: CPU seconds for all cases of a submission.
        memory_mib: memory beyond torch's own, in MiB.

    Raises:
        DrillError: if a named folder is no pack.
        GraderError: if this system cannot fork, or torch cannot be imported.
    """
    check_system()
    hidden = known_packs.roots()
    # The garbage collector would visit every object that torch makes during its import.
    gc.disable()
    try:
        from trainer.grading.grader import Grader
        from trainer.worker.forkserver_client import Limits
    except ImportError as error:
        raise GraderError(
            f"torch cannot be imported: {error}. "
            "Install attn-drill again; the README has the command."
        ) from None
    limits = Limits(seconds, memory_mib << 20)
    grader = Grader(hidden, limits, meanwhile=_import_for_the_end)
    gc.enable()
    return grader


class CheckedFile:
    """A file that was graded, and the grader that is still open.

    Args:
        grader: the grader.
        judgement: the judgement of the file.
        report: the report with its diagnosis.
    """

    def __init__(self, grader: Grader, judgement: Judgement, report: Report) -> None:
        self._grader, self._judgement, self.report = grader, judgement, report

    def lesson(self) -> Lesson:
        """Return the lesson about a file that passed. It takes a second or two."""
        from trainer.teaching.teacher import Teacher

        return Teacher(self._grader.workers).lesson(self._judgement)


@contextmanager
def graded_file(
    known_packs: KnownPacks,
    challenge: Challenge,
    submission: Submission,
    seed: int,
    case: int | None = None,
    *,
    diagnosed: bool = True,
    planted: tuple[str, ...] = (),
    seconds: float = SECONDS,
    memory_mib: int = MEMORY_MIB,
) -> Iterator[CheckedFile]:
    """Grade one file with its own grader, which stays open inside the block.

    Args:
        known_packs: the packs to hide from the file.
        challenge: the challenge that the file answers.
        submission: the file.
        seed: the cases are drawn from it.
        case: grade this case only, by its number in a report.
        diagnosed: if the file fails, also look for the mistake and the line.
        planted: the ids of the mistakes that a bug hunt put into the file.
        seconds: CPU seconds for all cases.
        memory_mib: memory beyond torch's own, in MiB.

    Raises:
        GraderError: if there is no verdict.
    """
    with open_grader(known_packs, seconds, memory_mib) as grader:
        judgement = grader.grade(challenge, submission, seed, case)
        report = judgement.report
        if diagnosed and (planted or report.verdict != "passed"):
            # A pass does not import the diagnosis.
            from trainer.diagnosis.diagnose import Diagnoser

            report = Diagnoser(grader.workers).report(judgement, planted)
        yield CheckedFile(grader, judgement, report)


def grade_file(
    known_packs: KnownPacks,
    challenge: Challenge,
    submission: Submission,
    seed: int,
    *,
    diagnosed: bool = True,
    planted: tuple[str, ...] = (),
) -> Report:
    """Return the report of one file, graded with its own grader.

    Raises:
        GraderError: if there is no verdict.
    """
    with graded_file(
        known_packs, challenge, submission, seed, diagnosed=diagnosed, planted=planted
    ) as graded:
        return graded.report


def trace_file(
    known_packs: KnownPacks,
    challenge: Challenge,
    submission: Submission,
    seed: int,
    case: int | None,
) -> Trace:
    """Return the result of each line of a file on one case, by default the first that fails."""
    with open_grader(known_packs) as grader:
        from trainer.diagnosis.tracing import trace

        return trace(grader, challenge, submission, seed, case)


def failing_case(
    known_packs: KnownPacks,
    challenge: Challenge,
    submission: Submission,
    seed: int,
    case: int | None,
) -> Repro | None:
    """Return `case` with its inputs, by default the first that fails; None if all cases pass."""
    with open_grader(known_packs) as grader:
        from trainer.diagnosis.repro_script import repro

        return repro(grader, challenge, submission, seed, case)


def record_attempt(
    journal: Journal, challenge: Challenge, report: Report, source: str, purpose: Purpose
) -> str:
    """Write a report to the journal. A report on an unfinished file is not written.

    Returns:
        The grade of the pass with its reasons, or "".
    """
    recorded = write_attempt(journal, challenge, report, source, time.time(), None, purpose)
    record_diagnosis(journal, recorded.attempt, report)
    return recorded.graded


def hunted_mistakes(journal: Journal, challenge: Challenge, path: Path) -> tuple[str, ...]:
    """Return the ids of the mistakes that a hunt put into this file; () for any other file."""
    hunt = journal.last_hunt(challenge.id)
    if hunt is None:
        return ()
    mistakes, hunt_path = hunt
    return mistakes if hunt_path == path.resolve() else ()


def _import_for_the_end() -> None:
    """Import what shows the report and the next steps, while a worker runs the file."""
    importlib.import_module("trainer.report.terminal")
    importlib.import_module("trainer.app.next_steps")
    importlib.import_module("fsrs")
