"""Explain where and why a submission failed.

A diagnosis names known mistakes, the line to blame, the progress, the effective mask and topics
that are ruled out.
"""

from __future__ import annotations

import io
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache, cached_property
from weakref import WeakKeyDictionary

from attn_drill.diagnosis.agreement import Agreement
from attn_drill.diagnosis.attention_weights import attention_weights
from attn_drill.diagnosis.effective_mask import effective_mask
from attn_drill.diagnosis.first_wrong import wrong_entries
from attn_drill.diagnosis.generic_errors import generic_error
from attn_drill.diagnosis.locate import Location, Locator
from attn_drill.diagnosis.milestones import (
    Milestone,
    MilestoneProgress,
    concerns,
    noted_shape,
    progress,
    topics_of,
)
from attn_drill.diagnosis.mistake_search import MistakeSearch
from attn_drill.diagnosis.named_line import is_omission, line_by_text, patched_lines
from attn_drill.diagnosis.named_value import NamedMistake
from attn_drill.diagnosis.output_relation import relation
from attn_drill.diagnosis.pair_search import find_pair
from attn_drill.diagnosis.patched_references import Ids, PatchedReferences
from attn_drill.diagnosis.recorded_case import RecordedCase, recorded_case
from attn_drill.diagnosis.repairs import repair_of
from attn_drill.diagnosis.reruns import Reruns
from attn_drill.diagnosis.same_failure import failures
from attn_drill.diagnosis.several_functions import function_of, wrong_by_function
from attn_drill.diagnosis.source_analysis import function_lines, line_of_tuple
from attn_drill.diagnosis.telling_case import case_of_the_mask, most_informative_case
from attn_drill.diagnosis.value_graph import ValueGraph
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.grader import Judgement
from attn_drill.grading.pictures import with_pictures
from attn_drill.grading.ready_workers import Workers
from attn_drill.grading.shapes import name_shape
from attn_drill.model.challenge import Mistake
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.report import (
    Diagnosis,
    EffectiveMask,
    Frame,
    Outcome,
    Repair,
    Report,
    WrongFunction,
)
from attn_drill.packs.mistakes import lines_of, patch_all
from attn_drill.worker.forkserver_client import ForkServerLostError
from attn_drill.worker.worker_client import WorkerResult

_KEEPS_STATE = "this case is right if it runs alone: your code keeps something from an earlier call"


class Diagnoser:
    """Diagnose judged submissions. The results of patched references are kept for later calls."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._references: WeakKeyDictionary[CaseSet, PatchedReferences] = WeakKeyDictionary()

    def report(self, judgement: Judgement, planted: Ids = ()) -> Report:
        """Return the report of a judgement, with a diagnosis if the submission failed.

        Args:
            judgement: of the submission.
            planted: the ids of the mistakes that a bug hunt put into the file. The report then has
                the progress of the repair, and the diagnosis names one of those that are left.
        """
        report, started = judgement.report, time.monotonic()
        if planted:
            report = replace(report, repair=self._repair(judgement, planted))
        if report.verdict == "passed":
            return report
        left = report.repair.left if report.repair is not None else None
        known = (left or ())[:1]
        diagnosis = self.diagnose(judgement, tuple(mistake.id for mistake in known))
        seconds = report.elapsed_seconds + time.monotonic() - started
        diagnosed = replace(report, diagnosis=diagnosis, elapsed_seconds=seconds)
        explained = diagnosed.first_failure()
        outcomes = tuple(
            with_pictures(outcome, judgement.comparison) if outcome is explained else outcome
            for outcome in report.outcomes
        )
        return replace(diagnosed, outcomes=outcomes)

    def _repair(self, judgement: Judgement, planted: Ids) -> Repair | None:
        """Return the progress of a bug hunt; None, with a warning, if it cannot be told."""
        try:
            with closing(Reruns(self._workers, judgement)) as reruns, _silence():
                return repair_of(self.references(judgement.case_set), judgement, reruns, planted)
        except ForkServerLostError:
            self._workers.replace_fork_server()
        except Exception as error:
            warnings.warn(
                f"The progress of the hunt is not known ({type(error).__name__}: {error}); "
                "the verdict is still valid. Report this with the seed.",
                stacklevel=3,
            )
        return None

    def diagnose(self, judgement: Judgement, known: Ids = ()) -> Diagnosis | None:
        """Return where and why a submission failed; None if it passed or was never called.

        Also returns None, with a warning, if the diagnosis itself fails. The verdict does not
        depend on the diagnosis.

        Args:
            judgement: of the submission.
            known: the mistake to name, if it is known already; () searches for it.
        """
        try:
            with closing(Reruns(self._workers, judgement)) as reruns:
                references = self.references(judgement.case_set)
                diagnosis = diagnose(references, judgement, reruns, known)
                if diagnosis is not None and judgement.report.shares:
                    is_only = _is_only_mistake(references, judgement, reruns, diagnosis.mistakes)
                    diagnosis = replace(diagnosis, is_only_mistake=is_only)
                return diagnosis
        except ForkServerLostError:
            self._workers.replace_fork_server()
        except Exception as error:
            warnings.warn(
                f"The diagnosis failed ({type(error).__name__}: {error}); "
                "the verdict is still valid. Report this with the seed.",
                stacklevel=2,
            )
        return None

    def matching_mistake(self, judgement: Judgement) -> Ids:
        """Return the known mistake that fails exactly like a submission; () if none does."""
        with closing(Reruns(self._workers, judgement)) as reruns:
            return matching_mistake(self.references(judgement.case_set), judgement, reruns)

    def mistakes_alike(self, judgement: Judgement) -> Ids:
        """Return all known mistakes that give the wrong values of a submission in every case."""
        references = self.references(judgement.case_set)
        agreement = Agreement(references, judgement.of_all_cases().comparison)
        with _silence():
            return tuple(
                mistake
                for mistake in references.mistakes
                if agreement.wrong_cases and agreement.agrees((mistake,))
            )

    def references(self, case_set: CaseSet) -> PatchedReferences:
        """Return the patched references of a case set."""
        if case_set not in self._references:
            check_interrupt = self._workers.check_interrupt
            self._references[case_set] = PatchedReferences(case_set, check_interrupt)
        return self._references[case_set]


def diagnose(
    references: PatchedReferences, judgement: Judgement, reruns: Reruns, known: Ids = ()
) -> Diagnosis | None:
    """Return where and why a submission failed; None if it passed or was never called.

    Args:
        references: the patched references on the judged cases.
        judgement: of the submission.
        reruns: runs the submission again.
        known: the mistake to name, if it is known already; () searches for it.
    """
    first = _failure_to_explain(judgement)
    if first is None:
        return None
    with _silence():
        return _Diagnosis(references, judgement, reruns, first).result(known)


def matching_mistake(references: PatchedReferences, judgement: Judgement, reruns: Reruns) -> Ids:
    """Return the known mistake that fails exactly like a submission; () if none does."""
    first = _failure_to_explain(judgement)
    if first is None:
        return ()
    with _silence():
        return _Diagnosis(references, judgement, reruns, first).single_mistake()


def _is_only_mistake(
    references: PatchedReferences,
    judgement: Judgement,
    reruns: Reruns,
    mistakes: Sequence[Mistake],
) -> bool:
    """Return whether the reference with one mistake fails every check exactly as the submission.

    It runs in a worker like a submission, so everything that is graded is compared.
    """
    if len(mistakes) != 1:
        return False
    source = references.patched((mistakes[0].id,)) or ""
    report = references.report(judgement.case_set, source, reruns.grade)
    return failures(report) == failures(judgement.report)


@contextmanager
def _silence() -> Iterator[None]:
    """Hide the output of right answers and of mistakes, which run in this process.

    A right answer may print. A mistake may make layers without entries, and torch warns about
    these layers.
    """
    with (
        warnings.catch_warnings(),
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def _failure_to_explain(judgement: Judgement) -> Outcome | None:
    """Return the first failure; None if the submission passed or was not called."""
    comparison = judgement.comparison
    has_replied = (
        comparison.worker_result.how == "replied" and comparison.reply.load_failure is None
    )
    if not has_replied or not comparison.results:
        return None
    return judgement.report.first_failure()


class _Diagnosis:
    """The work on one diagnosis.

    Args:
        first: the failure to explain.
    """

    def __init__(
        self,
        references: PatchedReferences,
        judgement: Judgement,
        reruns: Reruns,
        first: Outcome,
    ) -> None:
        self._references, self._judgement, self._reruns = references, judgement, reruns
        self._case_set, self._first = judgement.case_set, first
        self._locator = Locator(references, judgement, reruns)
        complete = judgement.of_all_cases()
        # Many mistakes behave like the submission in a single case, so they are compared in all
        # cases. The line is searched in the cases of the report.
        self._agreement = Agreement(references, complete.comparison)
        self._reported = (
            self._agreement
            if complete is judgement
            else Agreement(references, judgement.comparison)
        )
        self._search = MistakeSearch(
            self._agreement,
            complete,
            first,
            reruns.grade,
            loops=lambda source: self._locator.loop_growth(source).ratios,
        )
        self._recordings: dict[int, Callable[[], WorkerResult]] = {}

    def result(self, known: Ids = ()) -> Diagnosis:
        """Return the complete diagnosis, with this mistake if it is known already."""
        # The workers run while this process tries known mistakes.
        self._begin_recording(self._telling_index)
        self._begin_recording(self._mask_index)
        ids = known or self.single_mistake()
        if not ids and self._search.may_be_a_pair and not self._keeps_state:
            operations = len(self._recorded.reference.nodes) if self._recorded else 0
            ids = find_pair(self._agreement, operations)
        mistakes = self._in_order(ids)
        location = self._location(ids)
        # Facts about another line are left out.
        named = self._named_location(mistakes, location, is_planted=bool(known))
        location = named or location
        explanation = location.relation
        if not ids and explanation is None and not self._keeps_state:
            explanation = generic_error(self._agreement)
        if explanation is None:
            explanation = self._output_relation()
        mask = self._mask()
        is_shown = mask is not None and bool(mask.difference) and _may_be_a_mask(mistakes)
        reached = None if named else self._progress
        return Diagnosis(
            mistakes=mistakes,
            first_line=location.frame,
            start=location.start,
            missing=location.is_missing,
            case=location.case,
            last_reached=reached.last.name if reached and reached.last else None,
            first_missed=reached.missed.name if reached and reached.missed else None,
            missed_shape=self._shape_of(reached.missed if reached else None),
            made=location.made,
            rearranged=location.rearranged,
            operands=location.operands,
            layout=explanation,
            effective_mask=mask if is_shown else None,
            cleared=self._cleared(mistakes, mask),
            elsewhere=tuple(self._elsewhere(location)),
            attention=None if self._recorded is None else attention_weights(self._recorded),
        )

    # Known mistakes

    def single_mistake(self) -> Ids:
        """Return the known mistake that agrees with all cases; () if none does."""
        ids = self._search.single()
        if not ids and self._agreement.wrong_cases and self._keeps_state:
            return self._search.kept_between_cases()
        return ids

    def _in_order(self, ids: Ids) -> tuple[Mistake, ...]:
        """Return mistakes in the order of their lines in the reference."""
        in_order = sorted(ids, key=lambda mistake: self._references.lines(mistake).start)
        return tuple(self._references.mistakes[mistake] for mistake in in_order)

    # The recorded case, and the case in which the mask is read

    @cached_property
    def _telling_index(self) -> int | None:
        """The index of the case to record, from 0."""
        failed = {
            outcome.number
            for outcome in self._judgement.report.outcomes
            if outcome.status == "failed" and outcome.check == self._first.check
        }
        numbers = {number for number in failed if number is not None}
        wrong = self._reported.wrong_cases
        return most_informative_case(self._references, wrong, self._first, numbers)

    @cached_property
    def _mask_index(self) -> int | None:
        """The index of the case in which the mask is read, from 0."""
        if CHECK_ORDER.index(self._first.check) > CHECK_ORDER.index("masks"):
            return None
        return case_of_the_mask(self._references, self._reported.wrong_cases, self._telling_index)

    def _begin_recording(self, index: int | None) -> None:
        """Start the submission in a worker on a case, if it has not been started.

        The case runs alone, because a class may keep the sizes of its last object.
        """
        if index is not None and index not in self._recordings:
            alone = self._case_set.only([index])
            self._recordings[index] = cache(self._reruns.begin(alone, "lines"))

    @cached_property
    def _recorded(self) -> RecordedCase | None:
        """The submission's graph in the most informative case; None if it was not recorded."""
        index = self._telling_index
        if index is None:
            return None
        # The right graphs are computed here while the worker runs.
        self._begin_recording(index)
        recorded = self._recorded_in(index, self._references.right_graphs(index))
        if recorded is None or recorded.is_right_alone:
            return recorded
        # A submission that seems to draw at random may keep state from an earlier call. If it does
        # not, the recorded call shows nothing about the graded call.
        is_random = any(
            observed.is_random
            for observed in self._reported.observed_cases
            if observed.index == index
        )
        return None if is_random else recorded

    def _recorded_in(self, index: int, right_graphs: Sequence[ValueGraph]) -> RecordedCase | None:
        """Return the submission's graph in a case; None if it was not recorded."""
        self._begin_recording(index)
        return recorded_case(
            index,
            self._case_set.only([index]),
            right_graphs,
            self._recordings[index](),
            self._judgement.comparison,
        )

    @property
    def _keeps_state(self) -> bool:
        """True if the recorded case is wrong among the others, but right if it runs alone.

        Then the submission keeps state from an earlier case.
        """
        recorded = self._recorded
        return recorded is not None and bool(recorded.wrong_outputs) and recorded.is_right_alone

    @cached_property
    def _progress(self) -> MilestoneProgress | None:
        recorded = self._recorded
        if recorded is None:
            return None
        source = self._references.source
        return progress(recorded.graph, recorded.reference, source, recorded.sizes)

    def _shape_of(self, milestone: Milestone | None) -> str:
        """Return the shape that the reference notes beside a result, or its shape with letters.

        A matrix without a note has no letters, because it may have no axis for the batch.
        """
        if milestone is None or self._recorded is None or milestone.node.value is None:
            return ""
        noted = noted_shape(self._references.source, milestone.node.line)
        if noted or milestone.node.value.dim() < 3:
            return noted
        return name_shape(tuple(milestone.node.value.shape), self._recorded.sizes)

    # Line, relation of the output, mask

    def _location(self, ids: Ids) -> Location:
        if self._keeps_state:
            return Location(relation=_KEEPS_STATE)
        recorded = self._recorded
        location = None
        if recorded is not None:
            mistaken = self._references.mistaken_graph(ids, recorded.index) if ids else None
            location = self._locator.location_of_wrong_value(
                recorded, mistaken, self._progress, self._in_order(ids)
            )
        elif (drawing := self._case_that_draws) is not None:
            location = self._locator.location_of_draw(drawing)
        return location or self._locator.location_of_other_failure()

    def _named_location(
        self, mistakes: Sequence[Mistake], location: Location, *, is_planted: bool
    ) -> Location | None:
        """Return the lines of a named mistake; None if the found line is as good.

        Args:
            mistakes: the named mistakes.
            location: the line that was found without the text of the mistakes.
            is_planted: whether a bug hunt put the mistake into the file.
        """
        reference, source = self._references.source, self._judgement.submission.source
        lines = [
            line_by_text(reference, mistake, source, is_planted=is_planted) for mistake in mistakes
        ]
        found_line = None if location.frame is None else location.frame.line
        case = location.case or self._first.number
        if texts := list(filter(None, lines)):
            if not is_planted and any(found_line == last for _, last in texts):
                return None
            start, line = texts[0]
            is_missing = is_omission(reference, mistakes[0])
        elif gap := self._gap(mistakes, location):
            start, line, is_missing = gap[0] or gap[1], gap[1], True
        else:
            found = self._line_by_values(mistakes, location)
            if found is None and location.first and location.first.node.operation == "return":
                found = line_of_tuple(source, location.first.node.line)
            if found is None or found == found_line:
                return None
            start, line, is_missing = found, found, False
            if found_line is not None and line in function_lines(source, found_line):
                start = min(line, found_line)
        return Location(
            frame=self._locator.frame(line),
            start=None if start == line else start,
            is_missing=is_missing,
            case=case,
        )

    def _line_by_values(self, mistakes: Sequence[Mistake], location: Location) -> int | None:
        """Return the line that does what a single named mistake does; None if unknown."""
        if len(mistakes) != 1:
            return None
        if location.frame is None or self._first.check == "runs":
            named = self._named_mistake(mistakes[0], self._index_that_runs)
            return None if named is None else named.line_without_wrong_value()
        if location.first is None or self._recorded is None:
            return None
        named = self._named_mistake(mistakes[0], self._recorded.index)
        is_missing = location.is_missing
        return None if named is None else named.line(location.first, is_missing=is_missing)

    def _gap(
        self, mistakes: Sequence[Mistake], location: Location
    ) -> tuple[int | None, int] | None:
        """Return the lines around a missing step that makes no value wrong; None if unknown."""
        reference = self._references.source
        if location.frame is not None or len(mistakes) != 1:
            return None
        if not is_omission(reference, mistakes[0]):
            return None
        named = self._named_mistake(mistakes[0], self._index_that_runs)
        return None if named is None else named.gap(lines_of(reference, mistakes[0]))

    def _named_mistake(self, mistake: Mistake, index: int | None) -> NamedMistake | None:
        """Return a named mistake in a case; None if the case cannot be recorded."""
        if index is None:
            return None
        recorded, reference = self._recorded, self._references.source
        if recorded is None or recorded.index != index:
            right = self._references.graph(index, "lines")
            recorded = None if right is None else self._recorded_in(index, [right])
        graph = self._references.mistaken_graph((mistake.id,), index)
        if recorded is None or graph is None:
            return None
        return NamedMistake(
            recorded,
            graph,
            patch_all(reference, [mistake], ""),
            patched_lines(reference, mistake),
            self._judgement.submission.source,
        )

    @property
    def _index_that_runs(self) -> int | None:
        """The index of the explained case, or of the first case whose first call succeeds."""
        results = [
            result.index
            for result in self._judgement.comparison.results
            if result.case.probe is None and result.reply.failure is None
        ]
        explained = (self._first.number or 0) - 1
        return explained if explained in results else next(iter(results), None)

    def _elsewhere(self, location: Location) -> Iterator[WrongFunction]:
        """Yield the first wrong lines of the functions that the explained case does not call."""
        if location.frame is None or location.case is None:
            return
        wrong = wrong_by_function(self._reported)
        seen = {location.frame.line}
        for function, cases in wrong.items():
            if function == function_of(self._case_set, location.case - 1):
                continue
            frame = self._line_of_case(cases[0].index)
            if frame is not None and frame.line not in seen:
                seen.add(frame.line)
                yield WrongFunction(function, cases[0].index + 1, frame)

    def _line_of_case(self, index: int) -> Frame | None:
        """Return the first wrong line of a case; None if it is not found."""
        recorded = self._recorded_in(index, self._references.right_graphs(index))
        if recorded is None or recorded.is_right_alone:
            return None
        location = self._locator.location_of_wrong_value(recorded, None, None)
        return None if location is None else location.frame

    @property
    def _case_that_draws(self) -> int | None:
        """The index of the explained case if it draws at random in eval mode, else None."""
        for observed in self._reported.observed_cases:
            case = self._case_set.cases[observed.index]
            is_explained = self._first.number == observed.index + 1
            if is_explained and observed.is_random and case.mode == "eval":
                return observed.index
        return None

    def _output_relation(self) -> str | None:
        """Return how the wrong output of the explained case relates to the right output."""
        mismatch = self._first.mismatch
        if self._first.number is None or mismatch is None:
            return None
        comparison = self._judgement.comparison
        result = comparison.result_of(self._first.number - 1)
        if mismatch.kind not in ("value", "shape") or result is None:
            return None
        expected = result.expected.outputs.get(mismatch.tensor)
        value = result.value_of(result.reply.outputs.get(mismatch.tensor))
        if expected is None or value is None:
            return None
        dims = result.case.dims.get(mismatch.tensor, "")
        return relation(value, expected.value, dims, dict(result.case.sizes))

    def _mask(self) -> EffectiveMask | None:
        """Return the mask of the submission; None if it cannot be read."""
        index = self._mask_index
        if index is None or self._keeps_state:
            return None
        right = self._references.graph(index, "lines")
        recorded = None if right is None else self._recorded_in(index, [right])
        return None if recorded is None else effective_mask(recorded)

    @cached_property
    def _doubtful_topics(self) -> set[str]:
        """The topics of all results that are wrong although their operands are right."""
        recorded = self._recorded
        if recorded is None:
            return set()
        entries = wrong_entries(recorded.matching(), recorded.wrong_outputs)
        return set().union(*map(topics_of, entries))

    def _cleared(self, mistakes: Sequence[Mistake], mask: EffectiveMask | None) -> tuple[str, ...]:
        """Return the topics that are ruled out. The topics of named mistakes are left out.

        The mask is ruled out only if the named mistakes explain all cases, masked cases included,
        and no named mistake is about a mask. A proof for a single case covers only its own mask.
        """
        topics = list(self._progress.cleared) if self._progress else []
        if mask is not None:
            topics.append("mask")
        is_explained = bool(mistakes) and not (mask and mask.difference)
        if not is_explained or self._judgement.report.statuses().get("masks") == "failed":
            topics = [topic for topic in topics if topic != "mask"]
        doubtful = self._doubtful_topics
        remaining = [
            topic
            for topic in topics
            if topic not in doubtful and not any(concerns(mistake, topic) for mistake in mistakes)
        ]
        return tuple(dict.fromkeys(remaining))


def _may_be_a_mask(mistakes: Sequence[Mistake]) -> bool:
    """Return whether a mask may be the cause: no mistake is named, or a mistake about masks."""
    return not mistakes or any(concerns(mistake, "mask") for mistake in mistakes)
