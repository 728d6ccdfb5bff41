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
from typing import TypeVar
from weakref import WeakKeyDictionary

from attn_drill.diagnosis._attention_weights import attention_weights, effective_mask
from attn_drill.diagnosis._behaviour import Agreement
from attn_drill.diagnosis._first_wrong import wrong_entries
from attn_drill.diagnosis._generic_errors import generic_error
from attn_drill.diagnosis._locate import Location, Locator
from attn_drill.diagnosis._milestones import (
    MilestoneProgress,
    concerns,
    noted_shape,
    progress,
    topics_of,
)
from attn_drill.diagnosis._mistake_search import MistakeSearch, failures, find_pair
from attn_drill.diagnosis._named_line import NamedMistake, is_omission, line_by_text, patched_lines
from attn_drill.diagnosis._output_relation import relation
from attn_drill.diagnosis._recorded_case import RecordedCase, Reruns, recorded_case
from attn_drill.diagnosis._source_lines import function_lines, line_of_tuple
from attn_drill.diagnosis._telling_case import case_of_the_mask, most_informative_case
from attn_drill.diagnosis._value_graph import ValueGraph
from attn_drill.diagnosis.patched_references import Ids, PatchedReferences
from attn_drill.diagnosis.repairs import repair_of
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.grader import Judgement, Workers
from attn_drill.grading.pictures import name_shape, with_pictures
from attn_drill.model.challenge import Mistake
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.report import Diagnosis, EffectiveMask, Outcome, Report, WrongFunction
from attn_drill.packs.mistakes import lines_of, patch_all
from attn_drill.worker.forkserver_client import ForkServerLostError
from attn_drill.worker.worker_client import WorkerResult

_KEEPS_STATE = "this case is right if it runs alone: your code keeps something from an earlier call"
_Found = TypeVar("_Found")


class Diagnoser:
    """Diagnose judged submissions. The results of patched references are kept for later calls."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._references: WeakKeyDictionary[CaseSet, PatchedReferences] = WeakKeyDictionary()

    def report(self, judgement: Judgement, planted: Ids = ()) -> Report:
        """Return the report of a judgement, with a diagnosis if the submission failed.

        Args:
            planted: the ids of the mistakes that a bug hunt put into the file. The report then has
                the progress of the repair, and the diagnosis names one of those that are left.
        """
        report, started = judgement.report, time.monotonic()
        if planted:
            repair = self._tried(
                "The progress of the hunt is not known",
                judgement,
                lambda references, reruns: repair_of(references, judgement, reruns, planted),
            )
            report = replace(report, repair=repair)
        if report.verdict == "passed":
            return report
        left = report.repair.left if report.repair is not None else None
        diagnosis = self.diagnose(judgement, tuple(mistake.id for mistake in (left or ())[:1]))
        seconds = report.elapsed_seconds + time.monotonic() - started
        diagnosed = replace(report, diagnosis=diagnosis, elapsed_seconds=seconds)
        explained = diagnosed.first_failure()
        outcomes = tuple(
            with_pictures(outcome, judgement.comparison) if outcome is explained else outcome
            for outcome in report.outcomes
        )
        return replace(diagnosed, outcomes=outcomes)

    def diagnose(self, judgement: Judgement, known: Ids = ()) -> Diagnosis | None:
        """Return where and why a submission failed; None if it passed or was never called.

        Also returns None, with a warning, if the diagnosis itself fails. The verdict does not
        depend on the diagnosis.

        Args:
            known: the mistake to name, if it is known already; () searches for it.
        """
        return self._tried(
            "The diagnosis failed",
            judgement,
            lambda references, reruns: diagnose(references, judgement, reruns, known),
        )

    def matching_mistake(self, judgement: Judgement) -> Ids:
        """Return the known mistake that fails exactly like a submission; () if none does."""
        first = _failure_to_explain(judgement)
        if first is None:
            return ()
        with closing(Reruns(self._workers, judgement)) as reruns, _silence():
            references = self.references(judgement.case_set)
            return _Diagnosis(references, judgement, reruns, first).single_mistake()

    def mistakes_alike(self, judgement: Judgement) -> Ids:
        """Return all known mistakes that give the wrong values of a submission in every case."""
        references = self.references(judgement.case_set)
        agreement = Agreement(references, judgement.of_all_cases().comparison)
        if not agreement.wrong_cases:
            return ()
        with _silence():
            return tuple(each for each in references.mistakes if agreement.agrees((each,)))

    def references(self, case_set: CaseSet) -> PatchedReferences:
        if case_set not in self._references:
            check_interrupt = self._workers.check_interrupt
            self._references[case_set] = PatchedReferences(case_set, check_interrupt)
        return self._references[case_set]

    def _tried(
        self,
        failed: str,
        judgement: Judgement,
        action: Callable[[PatchedReferences, Reruns], _Found | None],
    ) -> _Found | None:
        """Return the result of an action; None, with a warning that says what failed."""
        try:
            with closing(Reruns(self._workers, judgement)) as reruns, _silence():
                return action(self.references(judgement.case_set), reruns)
        except ForkServerLostError:
            self._workers.replace_fork_server()
        except Exception as error:
            warnings.warn(
                f"{failed} ({type(error).__name__}: {error}); "
                "the verdict is still valid. Report this with the seed.",
                stacklevel=3,
            )
        return None


def diagnose(
    references: PatchedReferences, judgement: Judgement, reruns: Reruns, known: Ids = ()
) -> Diagnosis | None:
    """Return where and why a submission failed; None if it passed or was never called.

    Args:
        references: the patched references on the judged cases.
        reruns: runs the submission again.
        known: the mistake to name, if it is known already; () searches for it.
    """
    first = _failure_to_explain(judgement)
    if first is None:
        return None
    with _silence():
        diagnosis = _Diagnosis(references, judgement, reruns, first).result(known)
        if not judgement.report.shares or len(diagnosis.mistakes) != 1:
            return diagnosis
        # The reference with the mistake runs in a worker like a submission, so that everything
        # that is graded is compared.
        report = references.report((diagnosis.mistakes[0].id,), reruns.grade)
        is_only_mistake = failures(report) == failures(judgement.report)
        return replace(diagnosis, is_only_mistake=is_only_mistake)


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
        for index in (self._telling_index, self._mask_index):
            if index is not None:
                self._begin_recording(index)
        ids = known or self.single_mistake()
        if not ids and self._search.may_be_a_pair and not self._keeps_state:
            operations = len(self._recorded.reference.nodes) if self._recorded else 0
            ids = find_pair(self._agreement, operations)
        in_order = sorted(ids, key=lambda mistake: self._references.lines(mistake).start)
        mistakes = tuple(self._references.mistakes[mistake] for mistake in in_order)
        location = self._location(ids, mistakes)
        # Facts about another line are left out.
        named = self._named_location(mistakes, location, is_planted=bool(known))
        location = named or location
        explanation = location.relation
        if not ids and explanation is None and not self._keeps_state:
            explanation = generic_error(self._agreement)
        mask = self._mask()
        may_be_a_mask = not mistakes or any(concerns(mistake, "mask") for mistake in mistakes)
        recorded = self._recorded
        diagnosis = Diagnosis(
            mistakes=mistakes,
            first_line=location.frame,
            start=location.start,
            missing=location.is_missing,
            case=location.case,
            made=location.made,
            rearranged=location.rearranged,
            operands=location.operands,
            layout=explanation or self._output_relation(),
            effective_mask=mask if mask and mask.difference and may_be_a_mask else None,
            cleared=self._cleared(mistakes, mask),
            elsewhere=tuple(self._elsewhere(location)),
            attention=None if recorded is None else attention_weights(recorded),
        )
        reached = self._progress
        if recorded is None or reached is None or named is not None:
            return diagnosis
        if reached.last is not None:
            diagnosis = replace(diagnosis, last_reached=reached.last.name)
        if reached.missed is None or reached.missed.node.value is None:
            return diagnosis
        shape = tuple(reached.missed.node.value.shape)
        noted = noted_shape(self._references.source, reached.missed.node.line)
        # A matrix without a note has no letters, because it may have no axis for the batch.
        if not noted and len(shape) > 2:
            noted = name_shape(shape, recorded.sizes)
        return replace(diagnosis, first_missed=reached.missed.name, missed_shape=noted)

    def single_mistake(self) -> Ids:
        """Return the known mistake that agrees with all cases; () if none does."""
        ids = self._search.single()
        if not ids and self._agreement.wrong_cases and self._keeps_state:
            return self._search.kept_between_cases()
        return ids

    # The recorded case, and the case in which the mask is read

    @cached_property
    def _telling_index(self) -> int | None:
        failed = {
            outcome.number
            for outcome in self._judgement.report.outcomes
            if outcome.status == "failed" and outcome.check == self._first.check and outcome.number
        }
        wrong = self._reported.wrong_cases
        return most_informative_case(self._references, wrong, self._first, failed)

    @cached_property
    def _mask_index(self) -> int | None:
        """The index of the case in which the mask is read, from 0."""
        if CHECK_ORDER.index(self._first.check) > CHECK_ORDER.index("masks"):
            return None
        return case_of_the_mask(self._references, self._reported.wrong_cases, self._telling_index)

    def _begin_recording(self, index: int) -> None:
        """Start the submission in a worker on a case, if it has not been started.

        The case runs alone, because a class may keep the sizes of its last object.
        """
        if index not in self._recordings:
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
        random = {each.index for each in self._reported.observed_cases if each.is_random}
        return None if index in random else recorded

    def _recorded_in(
        self, index: int, right_graphs: Sequence[ValueGraph] | None = None
    ) -> RecordedCase | None:
        """Return the submission's graph in a case; None if it was not recorded.

        Args:
            index: of the case, from 0.
            right_graphs: of this case; None for only that of the reference.
        """
        if right_graphs is None:
            reference = self._references.graph((), index)
            right_graphs = [] if reference is None else [reference]
            if reference is None:
                return None
        self._begin_recording(index)
        alone, worker_result = self._case_set.only([index]), self._recordings[index]()
        comparison = self._judgement.comparison
        return recorded_case(index, alone, right_graphs, worker_result, comparison)

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

    # Line

    def _location(self, ids: Ids, mistakes: Sequence[Mistake]) -> Location:
        """Return the line that is found without the text of the mistakes.

        Args:
            ids: of the mistakes, in an order in which they can be patched.
            mistakes: the named mistakes, in the order of their lines.
        """
        if self._keeps_state:
            return Location(relation=_KEEPS_STATE)
        recorded, location = self._recorded, None
        if recorded is not None:
            mistaken = self._references.graph(ids, recorded.index) if ids else None
            location = self._locator.location_of_wrong_value(
                recorded, mistaken, self._progress, mistakes
            )
        else:
            for observed in self._reported.observed_cases:
                is_explained = self._first.number == observed.index + 1
                is_eval = self._case_set.cases[observed.index].mode == "eval"
                if is_explained and is_eval and observed.is_random:
                    location = self._locator.location_of_draw(observed.index)
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
            recorded = self._recorded_in(index)
        graph = self._references.graph((mistake.id,), index)
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

    # Other facts

    def _elsewhere(self, location: Location) -> Iterator[WrongFunction]:
        """Yield the first wrong lines of the functions that the explained case does not call.

        A challenge of several functions has cases for each of them: the input `function` of a case
        names the function that is called.
        """
        if location.frame is None or location.case is None:
            return
        names = {signature.name for signature in self._case_set.content.signatures}
        cases = self._case_set.cases
        first_wrong_cases: dict[str, int] = {}
        for observed in self._reported.wrong_cases:
            function = cases[observed.index].inputs.get("function")
            if isinstance(function, str) and function in names:
                first_wrong_cases.setdefault(function, observed.index)
        first_wrong_cases.pop(str(cases[location.case - 1].inputs.get("function")), None)
        seen = {location.frame.line}
        for function, index in first_wrong_cases.items():
            recorded = self._recorded_in(index, self._references.right_graphs(index))
            if recorded is None or recorded.is_right_alone:
                continue
            there = self._locator.location_of_wrong_value(recorded, None, None)
            if there is not None and there.frame is not None and there.frame.line not in seen:
                seen.add(there.frame.line)
                yield WrongFunction(function, index + 1, there.frame)

    def _output_relation(self) -> str | None:
        """Return how the wrong output of the explained case relates to the right output."""
        number, mismatch = self._first.number, self._first.mismatch
        if number is None or mismatch is None or mismatch.kind not in ("value", "shape"):
            return None
        comparison = self._judgement.comparison
        result = comparison.result_of(number - 1)
        if result is None:
            return None
        expected = result.expected.outputs.get(mismatch.tensor)
        value = result.value_of(result.reply.outputs.get(mismatch.tensor))
        if expected is None or value is None:
            return None
        dims = result.case.dims.get(mismatch.tensor, "")
        return relation(value, expected.value, dims, dict(result.case.sizes))

    def _mask(self) -> EffectiveMask | None:
        """Return the mask of the submission; None if it cannot be read."""
        if self._mask_index is None or self._keeps_state:
            return None
        recorded = self._recorded_in(self._mask_index)
        return None if recorded is None else effective_mask(recorded)

    def _cleared(self, mistakes: Sequence[Mistake], mask: EffectiveMask | None) -> tuple[str, ...]:
        """Return the topics that are ruled out.

        The mask is ruled out only if the named mistakes explain all cases, masked cases included,
        and no named mistake is about a mask. A proof for a single case covers only its own mask.
        """
        topics = list(self._progress.cleared) if self._progress else []
        if mask is not None:
            topics.append("mask")
        doubtful: set[str] = set()
        is_explained = bool(mistakes) and not (mask and mask.difference)
        if not is_explained or self._judgement.report.statuses().get("masks") == "failed":
            doubtful.add("mask")
        # So are the topics of all results that are wrong although their operands are right.
        recorded = self._recorded
        if recorded is not None:
            entries = wrong_entries(recorded.matching(), recorded.wrong_outputs)
            doubtful.update(*map(topics_of, entries))
        cleared = [
            topic
            for topic in topics
            if topic not in doubtful and not any(concerns(mistake, topic) for mistake in mistakes)
        ]
        return tuple(dict.fromkeys(cleared))
