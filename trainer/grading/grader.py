"""Grade submissions: start the zygote, hold the exams, try assignments where names leave several."""

from __future__ import annotations

import select
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import torch

from trainer.core.report import Diagnosis, Report, Trace
from trainer.core.words import Challenge, DrillError
from trainer.grading.checks_counted import loop_between
from trainer.grading.evidence import CaseEvidence, Evidence
from trainer.grading.exam import Exam
from trainer.grading.held_memory import held_memory, measured_pair
from trainer.grading.judge import judge
from trainer.grading.unfinished import unfinished
from trainer.running.copy_probe import Copies
from trainer.running.isolation import Isolation
from trainer.running.probing import Isolated, copies_readable_by, probe_zygote
from trainer.running.protocol import Assigned, Purpose, SubmittedFile, cap
from trainer.running.run import Ended, Running, SupersededError
from trainer.running.zygote import Limits, Zygote, ZygoteLostError

if TYPE_CHECKING:  # imported where it is asked for: a pass pays nothing for it
    from trainer.grading.diagnosis.bank import Bank

Told = Callable[[Report], None]
TRAINER = Path(__file__).resolve().parents[1]
_NAP_SECONDS = 0.005
_ZYGOTES_A_SUBMISSION = 2


class Grader:
    """The trusted side. Make it before anything of `solutions/` is loaded; use it as a context manager.

    `interrupt`: a descriptor; once there is something to read from it, whatever is under way ends with SupersededError.
    `meanwhile`: is called when there is nothing to do but to wait for a worker.
    `isolation`: how workers are shut off; by default as well as this machine can.
    """

    def __init__(
        self,
        packs: Iterable[Path],
        limits: Limits | None = None,
        interrupt: int | None = None,
        isolation: Isolation | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        self._meanwhile = meanwhile
        self.limits = limits or Limits()
        self._interrupt = interrupt
        # A worker forked from a process whose thread pool has run may hang in its first operation.
        torch.set_num_threads(1)
        self._hidden = [TRAINER]
        for pack in packs:
            self._hidden += [pack / "challenges", pack / "solutions"]
        self._isolation = isolation
        self._zygote = Zygote(self._hidden, isolation)
        self._exams: dict[tuple[Path, int], Exam] = {}
        self._banks: WeakKeyDictionary[Exam, Bank] = WeakKeyDictionary()
        self._grown: WeakKeyDictionary[Exam, int] = WeakKeyDictionary()
        self._ready: tuple[Exam, Running] | None = None
        self._held: Exam | None = None

    def __enter__(self) -> Grader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote and its workers."""
        self._ready = None
        self._zygote.close()

    def isolated(self) -> Isolated:
        """What holds this grader's workers, tried now."""
        return probe_zygote(self._zygote, self._hidden)

    def readable_copies(self) -> Copies:
        """Search for references that this grader's workers can read, if anything hides files here."""
        if self._zygote.isolation == "limits":
            return Copies()
        return copies_readable_by(self._zygote, self._hidden)

    def hold(self, challenge: Challenge, seed: int) -> None:
        """Many submissions of this exam will come: what goes into its cases is read once for all of them. Another exam's takes its place."""
        exam = self.exam(challenge, seed)
        if self._held is not exam:
            self._held = None
            self._zygote.hold(exam.request())
            self._held = exam

    @property
    def _nap(self) -> float:
        """Where many submissions are to come, how many a second counts, and not how soon this one is known."""
        return 0.0 if self._held is None else _NAP_SECONDS

    def exam(self, challenge: Challenge, seed: int) -> Exam:
        """The cases and expected values of a seed; kept for the next submission."""
        key = (challenge.folder, seed)
        if key not in self._exams:
            self._exams[key] = Exam(challenge, seed)
        return self._exams[key]

    def forget(self, challenge: Challenge) -> None:
        """Drop a challenge's exams: no more submissions of it will come."""
        self._exams = {key: exam for key, exam in self._exams.items() if key[0] != challenge.folder}

    def grade(
        self,
        challenge: Challenge,
        source: str,
        file: str,
        seed: int,
        only: int | None = None,
        *,
        diagnosed: bool = False,
        told: Told | None = None,
    ) -> Report:
        """Grade one source under one seed.

        Args:
            only: the number of a single case, from 1; the report then speaks of that case alone.
            diagnosed: whether a failing report says where and why; a passing one costs the same.
            told: is given a failing report before where and why are looked for.

        Raises:
            DrillError: if there is no such case.
            GraderError: if the grader, the reference or the worker's host fails; no verdict then.
        """
        exam = self.exam_with(challenge, seed, only)
        return self.grade_exam(
            exam, source, file, None if only is None else only - 1, diagnosed=diagnosed, told=told
        )

    def grade_exam(
        self,
        exam: Exam,
        source: str,
        file: str,
        index: int | None = None,
        *,
        diagnosed: bool = False,
        told: Told | None = None,
    ) -> Report:
        """Grade one source on an exam; `index`: the one case that the report speaks of, from 0."""
        started = time.monotonic()
        report, evidence, assignment = self._judged_whatever_happens(exam, source, file, index)
        if report.verdict != "passed":
            report = replace(report, unfinished=unfinished(evidence, source))
        if diagnosed and report.verdict != "passed":
            if told is not None:
                told(replace(report, elapsed_seconds=time.monotonic() - started))
            report = replace(
                report,
                diagnosis=self._diagnosis(
                    exam, evidence, report, source, _Runner(self, file, assignment)
                ),
            )
        return replace(report, elapsed_seconds=time.monotonic() - started)

    def _judged_whatever_happens(
        self, exam: Exam, source: str, file: str, index: int | None
    ) -> tuple[Report, Evidence, Assigned]:
        """Return `judged`; if the zygote dies, run the submission again in a new zygote.

        A submission with which two of them die has a verdict: it is the likely cause.
        """
        for _ in range(_ZYGOTES_A_SUBMISSION):
            try:
                return self.judged(exam, source, file, index)
            except ZygoteLostError:
                self._replace_zygote()
        evidence = Evidence(
            exam,
            Ended(
                "died",
                reason="the process that starts workers died each time this file ran, and so did the worker",
            ),
            index,
        )
        return judge(evidence, file, 0.0), evidence, {}

    def _replace_zygote(self) -> None:
        """Start another zygote in the place of the one that is gone."""
        self._ready = None
        self._zygote.close()
        self._zygote = Zygote(self._hidden, self._isolation)
        if self._held is not None:
            self._zygote.hold(self._held.request())

    def _diagnosis(
        self, exam: Exam, evidence: Evidence, report: Report, source: str, runner: _Runner
    ) -> Diagnosis | None:
        """Where and why; None, with a warning, where the search itself fails: the verdict does not depend on it."""
        try:
            from trainer.grading.diagnosis.diagnose import diagnose

            with closing(runner):
                return diagnose(self._bank(exam), evidence, report, source, runner)
        except ZygoteLostError:
            self._replace_zygote()
            return None
        except Exception as error:
            warnings.warn(
                f"The diagnosis failed ({type(error).__name__}: {error}); the verdict stands. Report this with the seed.",
                stacklevel=2,
            )
            return None

    def named(self, exam: Exam, source: str, file: str) -> tuple[Report, tuple[str, ...]]:
        """The report without a diagnosis, and the known mistake that gives exactly this, if one does."""
        from trainer.grading.diagnosis.diagnose import named

        report, evidence, assignment = self.judged(exam, source, file, None)
        with closing(_Runner(self, file, assignment)) as runner:
            return report, named(self._bank(exam), evidence, report, source, runner)

    def trace(
        self, challenge: Challenge, source: str, file: str, seed: int, only: int | None = None
    ) -> Trace:
        """What every line makes in one case: by default the one that a report would explain.

        Raises:
            DrillError: if there is no such case, or nothing can be recorded.
        """
        from trainer.grading.diagnosis.tracing import traced

        exam = self.exam_with(challenge, seed, only)
        report, evidence, assignment = self.judged(exam, source, file, None)
        failure = report.first_failure()
        number = only or (
            failure.number if failure is not None and failure.number is not None else 1
        )
        if evidence.reply.load_failure is not None or not evidence.cases:
            raise DrillError(
                f"{file} does not come so far that a line makes anything; `attn-drill check {challenge.id}` says why."
            )
        small = exam.only([number - 1], alone=True)
        return traced(
            small, number, self._run(small, source, file, assignment, "lines"), source, seed
        )

    def exam_with(self, challenge: Challenge, seed: int, only: int | None) -> Exam:
        """The exam of a seed.

        Raises:
            DrillError: if it has no such case.
        """
        exam = self.exam(challenge, seed)
        if only is not None and not 1 <= only <= len(exam.cases):
            raise DrillError(
                f"{challenge.id} has cases 1 to {len(exam.cases)}; --case {only} is none of them."
            )
        return exam

    def judged(
        self, exam: Exam, source: str, file: str, index: int | None
    ) -> tuple[Report, Evidence, Assigned]:
        """The report, what it rests on, and the assignment of layers under which it was made."""
        started = time.monotonic()
        try:
            best = self._evidence(exam, source, file, {}, index)
            likely = best.likely()
        except _MeantError as error:
            likely = error.likely
            best = self._evidence(exam, source, file, error.assignments[likely[0]], index)
            best.reply.assignments = error.assignments
        if best.ended.how == "timeout" and not best.ended.slept:
            best.loop = self._loop(exam, source, file, best)
        elif (
            index is None
            and best.ended.how == "replied"
            and all(best.right(case) for case in best.cases)
        ):
            best.held = held_memory(
                exam.cases,
                lambda number: self._most_held(
                    exam.only([number], alone=True), source, file, best.reply.assignment
                ),
                lambda afresh: self._own_growth(exam, afresh=afresh),
            )
        report = judge(best, file, time.monotonic() - started)
        possible = best.reply.assignments
        # Names leave several assignments: take one under which every output agrees, if there is one.
        if len(possible) > 1 and _has_wrong_values(report):
            tried = best.reply.assignment
            for assignment in [
                possible[place] for place in likely if place < len(possible)
            ] or possible:
                if time.monotonic() > started + self.limits.seconds:
                    break
                if assignment == tried:
                    continue
                other = self._evidence(exam, source, file, assignment, index)
                other.reply.assignments = possible
                again = judge(other, file, time.monotonic() - started)
                if _wrong_cases(again) < _wrong_cases(report):
                    report, best = again, other
                if report.verdict == "passed":
                    break
        return report, best, best.reply.assignment

    def _most_held(self, alone: Exam, source: str, file: str, assignment: Assigned) -> int:
        """Run one case in a worker of its own; return the most bytes that it held, 0 where it did not come to its end."""
        running = Running(
            self._zygote,
            alone.request(assignment, "outputs", measured=True),
            self.limits,
            measured=True,
        )
        running.submit(_submitted(file, source))
        ended = running.finish(self._interrupt)
        return ended.most_bytes if ended.how == "replied" else 0

    def _own_growth(self, exam: Exam, *, afresh: bool) -> int:
        """Return what the larger of two measured cases takes more than the smaller, without what an answer holds, in bytes."""
        if afresh or exam not in self._grown:
            pair = measured_pair(exam.cases) or (0, 0)
            reference, name = exam.reference_source, exam.challenge.file_name
            few, many = (
                self._most_held(exam.only([number], alone=True), reference, name, {})
                for number in pair
            )
            told = self._run(exam.only([pair[1]], alone=True), reference, name, {}).reply.runs
            held = max((counts.alive for run in told for counts in run.counts), default=0)
            self._grown[exam] = many - few - held
        return self._grown[exam]

    def _loop(self, exam: Exam, source: str, file: str, evidence: Evidence) -> str:
        """Say which count grows with the sizes, of a submission whose time was over: a loop is the likely cause.

        The first pair of cases that compares counts is small, so the submission runs on it again.
        """
        probes = [number for number, case in enumerate(exam.cases) if case.probe == "vectorised"][
            :2
        ]
        if len(probes) < 2 or (evidence.ended.last_note or 0) <= probes[0]:
            return ""
        ended = self._run(exam.only(probes), source, file, {})
        told = ended.reply.runs or ended.partial
        if len(told) < 2:
            return ""
        return loop_between(
            *(
                CaseEvidence(number, exam.cases[number], exam.expected[number], runs)
                for number, runs in zip(probes, told, strict=False)
            )
        )

    def _evidence(
        self, exam: Exam, source: str, file: str, assignment: Assigned, index: int | None
    ) -> Evidence:
        """Run a submission; what it makes is compared as it comes.

        Raises:
            _MeantError: where several assignments of layers fit, and one case tells that another one is meant.
        """
        running = self._begin(exam, source, file, assignment, "grade")
        exam.expected  # noqa: B018  # computed here while the worker is at work
        self._meanwhile()
        evidence = Evidence(exam, running.ended, index)

        def compare() -> None:
            if (
                not assignment
                and running.ended.tried is not None
                and (likely := evidence.likely())
                and 0 not in likely
            ):
                raise _MeantError(running.ended.tried.assignments, likely)
            evidence.compare_ahead()

        running.finish(self._interrupt, compare, self._nap)
        return evidence

    def _bank(self, exam: Exam) -> Bank:
        """The known mistakes of an exam, with what is known of them already."""
        from trainer.grading.diagnosis.bank import Bank

        if exam not in self._banks:
            self._banks[exam] = Bank(exam, self.look_up)
        return self._banks[exam]

    def look_up(self) -> None:
        """Look whether anybody still wants what is under way.

        Raises:
            SupersededError: if there is something to read from `interrupt`.
        """
        if self._interrupt is not None and select.select([self._interrupt], [], [], 0)[0]:
            raise SupersededError

    def _begin(
        self, exam: Exam, source: str, file: str, assignment: Assigned, purpose: Purpose
    ) -> Running:
        plain = not assignment and purpose == "grade"
        running = self._taken(exam) if plain else None
        if running is None:
            running = Running(
                self._zygote,
                None if plain and exam is self._held else exam.request(assignment, purpose),
                self.limits,
            )
        running.submit(_submitted(file, source))
        return running

    def prepare(self, challenge: Challenge, seed: int) -> None:
        """Have all ready for one submission under this seed: cases, expected values, and a worker that lacks the file alone."""
        exam = self.exam(challenge, seed)
        if self._ready is not None and self._ready[0] is exam:
            return
        self._discard()
        self._ready = exam, Running(self._zygote, exam.request(), self.limits, rehearsed=True)
        for one in exam.expected:
            _ = one.bounds, one.bounds_again, one.gradient_bounds

    def _taken(self, exam: Exam) -> Running | None:
        """The worker that was made ready for this exam, which only one file can have."""
        if self._ready is None or self._ready[0] is not exam:
            return None
        running, self._ready = self._ready[1], None
        return running

    def _discard(self) -> None:
        if self._ready is not None:
            self._ready[1].stop()
            self._ready = None

    def _run(
        self, exam: Exam, source: str, file: str, assignment: Assigned, purpose: Purpose = "grade"
    ) -> Ended:
        running = self._begin(exam, source, file, assignment, purpose)
        exam.expected  # noqa: B018  # computed here while the worker is at work
        return running.finish(self._interrupt, nap=self._nap)


def _submitted(file: str, source: str) -> SubmittedFile:
    """The file as a worker gets it; a file system may know names that are no UTF-8."""
    return SubmittedFile(cap(Path(file).name, 200), source)


class _Runner:
    """Workers for one diagnosis. A submission that does not come back is not waited for again."""

    def __init__(self, grader: Grader, file: str, assignment: Assigned) -> None:
        self._grader, self._file, self._assignment = grader, file, assignment
        self._lost: Ended | None = None
        self._begun: list[Running] = []

    def begin(self, exam: Exam, source: str, purpose: Purpose) -> Callable[[], Ended]:
        """Start the submission in a worker, with the assignment of layers that the verdict was made with; what is returned waits for it."""
        if (lost := self._lost) is not None:
            return lambda: lost
        running = self._grader._begin(exam, source, self._file, self._assignment, purpose)
        self._begun.append(running)
        return partial(self._finish, running)

    def run(self, exam: Exam, source: str, purpose: Purpose) -> Ended:
        """The same, waited for at once."""
        return self.begin(exam, source, purpose)()

    def close(self) -> None:
        """End what was begun and is not asked for any more."""
        for running in self._begun:
            running.stop()
        self._begun = []

    def _finish(self, running: Running) -> Ended:
        self._begun.remove(running)
        ended = running.finish(self._grader._interrupt, nap=self._grader._nap)
        self._lost = ended if ended.how == "timeout" else self._lost
        return ended

    def grade(self, exam: Exam, source: str) -> tuple[Evidence, Report]:
        """The pack's own content in a worker, judged."""
        from trainer.grading.diagnosis.bank import PATH

        evidence = Evidence(exam, self._grader._run(exam, source, PATH, {}))
        return evidence, judge(evidence, PATH, 0.0)


class _MeantError(Exception):
    """Of these assignments of layers not the first is meant: one case comes out right under those of these numbers alone."""

    def __init__(self, assignments: list[dict[str, list[str]]], likely: list[int]) -> None:
        super().__init__()
        self.assignments, self.likely = assignments, likely


def _has_wrong_values(report: Report) -> bool:
    """Whether values are wrong in a case: another assignment of layers changes nothing else."""
    return any(
        one.check == "values" and one.status == "failed" and one.number is not None
        for one in report.outcomes
    )


def _wrong_cases(report: Report) -> int:
    return sum(outcome.status == "failed" for outcome in report.outcomes) + (
        1000 if report.verdict != "passed" else 0
    )
