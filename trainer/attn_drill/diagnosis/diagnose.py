"""Explain where and why a submission failed.

A diagnosis names known mistakes, the line to blame, the progress, the effective mask and topics
that are ruled out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import TypeVar

from attn_drill.diagnosis._attention_weights import attention_weights, effective_mask
from attn_drill.diagnosis._behaviour import Agreement
from attn_drill.diagnosis._first_wrong import FirstWrong, wrong_entries
from attn_drill.diagnosis._locate import Locator, Place
from attn_drill.diagnosis._milestones import (
    MilestoneProgress,
    concerns,
    noted_shape,
    progress,
    topics_of,
)
from attn_drill.diagnosis._mistake_search import MistakeSearch, failures, find_pair
from attn_drill.diagnosis._named_line import NamedMistake, is_omission, line_by_text
from attn_drill.diagnosis._output_relation import relation
from attn_drill.diagnosis._recorded_case import RecordedCase, Reruns, recorded_case
from attn_drill.diagnosis._source_lines import function_lines
from attn_drill.diagnosis._telling_case import case_of_the_mask, most_informative_case
from attn_drill.diagnosis.patched_references import Ids, PatchedReferences, kept, silence
from attn_drill.diagnosis.repairs import repair_of
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.grader import Judgement, Workers
from attn_drill.grading.pictures import name_shape, with_pictures
from attn_drill.model.challenge import Mistake
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.report import Diagnosis, EffectiveMask, Outcome, Report, WrongFunction
from attn_drill.worker.forkserver_client import ForkServerLostError
from attn_drill.worker.worker_client import WorkerResult

_KEEPS_STATE = "this case is right if it runs alone: your code keeps something from an earlier call"
_Found = TypeVar("_Found")


class Diagnoser:
    """Diagnose judged submissions. The results of patched references are kept for later calls."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def report(self, judgement: Judgement, planted: Ids = ()) -> Report:
        """Return the report of a judgement, with a diagnosis if the submission failed.

        If a bug hunt planted mistakes in the file, the report has the progress of the repair, and
        the diagnosis names one of those that are left.
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

    def diagnose(self, judgement: Judgement, ids: Ids = ()) -> Diagnosis | None:
        """Return where and why a submission failed; None if it passed or was never called.

        Also returns None, with a warning, if the diagnosis itself fails.

        Args:
            ids: the mistake to name, if it is known already; () searches for it.
        """
        return self._tried(
            "The diagnosis failed",
            judgement,
            lambda references, reruns: diagnose(references, judgement, reruns, ids),
        )

    def matching_mistake(self, judgement: Judgement) -> Ids:
        """Return the known mistake that fails exactly like a submission; () if none does."""
        first = _failure_to_explain(judgement)
        if first is None:
            return ()
        with closing(Reruns(self._workers, judgement)) as reruns, silence():
            references = self.references(judgement.case_set)
            return _Diagnosis(references, judgement, reruns, first).single_mistake()

    def mistakes_alike(self, judgement: Judgement) -> Ids:
        """Return all known mistakes that give the wrong values of a submission in every case."""
        references = self.references(judgement.case_set)
        agreement = Agreement(references, judgement.of_all_cases().comparison)
        if not agreement.wrong_cases:
            return ()
        with silence():
            return tuple(each for each in references.mistakes if agreement.agrees((each,)))

    def references(self, case_set: CaseSet) -> PatchedReferences:
        """Return the patched references on these cases, which keep their results."""
        storage: dict[type, PatchedReferences] = case_set.kept
        if PatchedReferences not in storage:
            check_interrupt = self._workers.check_interrupt
            storage[PatchedReferences] = PatchedReferences(case_set, check_interrupt)
        return storage[PatchedReferences]

    def _tried(
        self,
        failed: str,
        judgement: Judgement,
        action: Callable[[PatchedReferences, Reruns], _Found | None],
    ) -> _Found | None:
        """Return the result of an action; None, with a warning that says what failed."""
        try:
            with closing(Reruns(self._workers, judgement)) as reruns, silence():
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
    references: PatchedReferences, judgement: Judgement, reruns: Reruns, ids: Ids = ()
) -> Diagnosis | None:
    """Return where and why a submission failed; None if it passed or was never called."""
    first = _failure_to_explain(judgement)
    if first is None:
        return None
    with silence():
        diagnosis = _Diagnosis(references, judgement, reruns, first).result(ids)
        if not judgement.report.shares or len(diagnosis.mistakes) != 1:
            return diagnosis
        # The reference with the mistake runs in a worker like a submission, so that everything
        # that is graded is compared.
        report = references.report((diagnosis.mistakes[0].id,), reruns.grade)
        is_only_mistake = failures(report) == failures(judgement.report)
        return replace(diagnosis, is_only_mistake=is_only_mistake)


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
    """The work on one diagnosis; `first` is the failure to explain."""

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
        self._agreement = self._reported = Agreement(references, complete.comparison)
        if complete is not judgement:
            self._reported = Agreement(references, judgement.comparison)
        self._search_with = partial(
            MistakeSearch,
            judgement=complete,
            first=first,
            grade=reruns.grade,
            loops=lambda: self._locator.loop_growth.ratios,
        )
        self._search = self._search_with(self._agreement)

    def result(self, planted: Ids = ()) -> Diagnosis:
        """Return the complete diagnosis, with this mistake if it is known already."""
        # The workers run while this process tries known mistakes.
        for index in (self._telling_index, self._mask_index):
            if index is not None:
                self._begin_recording(index)
        ids = planted or self._known_mistakes()
        recorded = self._recorded
        in_order = sorted(ids, key=lambda mistake: self._references.lines(mistake).start)
        mistakes = tuple(self._references.mistakes[mistake] for mistake in in_order)
        place, first_wrong = self._place(ids, mistakes)
        named = self._named_place(mistakes, place, first_wrong, is_planted=bool(planted))
        place = named or place  # facts about another line are left out
        mask = self._mask()
        may_be_a_mask = not mistakes or any(concerns(mistake, "mask") for mistake in mistakes)
        diagnosis = replace(
            place,
            mistakes=mistakes,
            layout=place.layout or self._output_relation(),
            effective_mask=mask if mask and mask.difference and may_be_a_mask else None,
            cleared=self._cleared(mistakes, mask),
            elsewhere=tuple(self._elsewhere(place)),
            attention=attention_weights(recorded) if recorded else None,
        )
        if recorded is None or self._progress is None or named is not None:
            return diagnosis
        last, missed, _ = self._progress
        shape = ""
        if missed is not None and missed.node.value is not None:
            shape = noted_shape(self._references.source, missed.node.line)
            # A matrix without a note has no letters, because it may have no axis for the batch.
            if not shape and missed.node.value.dim() > 2:
                shape = name_shape(tuple(missed.node.value.shape), recorded.sizes)
        return replace(
            diagnosis,
            last_reached=last and last.name,
            first_missed=missed and missed.name,
            missed_shape=shape,
        )

    def single_mistake(self) -> Ids:
        """Return the known mistake that agrees with all cases; () if none does."""
        ids = self._search.single()
        if not ids and self._agreement.wrong_cases and self._keeps_state:
            return self._search.kept_between_cases()
        return ids

    def _known_mistakes(self) -> Ids:
        """Return the mistake or the pair that explains all cases; () if none does."""
        ids = self.single_mistake() or self._pair(self._search)
        if not ids and (other_draws := self._agreement.with_other_draws()):
            search = self._search_with(other_draws)
            ids = search.single() or self._pair(search)
        return ids

    def _pair(self, search: MistakeSearch) -> Ids:
        if not search.may_be_a_pair or self._keeps_state:
            return ()
        recorded = self._recorded
        return find_pair(search.agreement, len(recorded.reference.nodes) if recorded else 0)

    # The recorded case, and the case in which the mask is read

    @cached_property
    def _telling_index(self) -> int | None:
        failed = {
            number
            for check, number, _ in failures(self._judgement.report)
            if number and check == self._first.check
        }
        wrong = self._reported.wrong_cases
        return most_informative_case(self._references, wrong, self._first, failed)

    @cached_property
    def _mask_index(self) -> int | None:
        """The index of the case in which the mask is read, from 0."""
        if CHECK_ORDER.index(self._first.check) > CHECK_ORDER.index("masks"):
            return None
        return case_of_the_mask(self._references, self._reported.wrong_cases, self._telling_index)

    @kept(most=100)
    def _begin_recording(self, index: int) -> Callable[[], WorkerResult]:
        """Start the submission in a worker on a case; return a function that waits for it.

        The case runs alone, because a class may keep the sizes of its last object.
        """
        return cache(self._reruns.begin(self._case_set.select([index]), "lines"))

    @cached_property
    def _recorded(self) -> RecordedCase | None:
        """The submission's graph in the most informative case; None if it was not recorded."""
        index = self._telling_index
        if index is None:
            return None
        recorded = self._recorded_in(index, of_all_answers=True)
        if recorded is None or recorded.is_right_alone:
            return recorded
        # A submission that seems to draw at random may keep state from an earlier call. If it does
        # not, the recorded call shows nothing about the graded call.
        return None if index in self._reported.random else recorded

    def _recorded_in(self, index: int, *, of_all_answers: bool = False) -> RecordedCase | None:
        """Return the submission's graph in a case, to compare with the reference or all answers."""
        finish = self._begin_recording(index)
        # The right graphs are computed here while the worker runs.
        if of_all_answers:
            right_graphs = self._references.right_graphs(index)
        else:
            right_graphs = list(filter(None, [self._references.graph((), index)]))
        if not right_graphs:
            return None
        alone, comparison = self._case_set.select([index]), self._judgement.comparison
        return recorded_case(index, alone, right_graphs, finish(), comparison)

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

    def _place(self, ids: Ids, mistakes: Sequence[Mistake]) -> Place:
        """Return the line that is found without the text of the mistakes.

        The ids are in an order in which they can be patched.
        """
        if self._keeps_state:
            return Diagnosis(layout=_KEEPS_STATE), None
        recorded, index = self._recorded, (self._first.number or 0) - 1
        if recorded is not None:
            mistaken = self._references.graph(ids, recorded.index) if ids else None
            place = self._locator.place_of_wrong_value(recorded, mistaken, self._progress, mistakes)
            if place is not None:
                return place
        elif index in self._reported.random and self._case_set.cases[index].mode == "eval":
            return self._locator.place_of_draw(index), None
        return self._locator.place_of_other_failure(), None

    def _named_place(
        self,
        mistakes: Sequence[Mistake],
        place: Diagnosis,
        first_wrong: FirstWrong | None,
        *,
        is_planted: bool,
    ) -> Diagnosis | None:
        """Return the lines of a named mistake; None if the line that was found is as good.

        Args:
            place: the line that was found without the text of the mistakes.
            is_planted: whether a bug hunt put the mistake into the file.
        """
        reference, source = self._references.source, self._judgement.submission.source
        line_found = None if place.first_line is None else place.first_line.line
        texts = [
            line_by_text(reference, mistake, source, is_planted=is_planted) for mistake in mistakes
        ]
        lines: tuple[int, int, bool] | None = None
        if by_text := list(filter(None, texts)):
            if not is_planted and any(line_found == last for _, last in by_text):
                return None
            lines = *by_text[0], is_omission(reference, mistakes[0])
        elif len(mistakes) == 1:
            lines = self._lines_by_values(mistakes[0], place, first_wrong)

        if lines is None or (not by_text and lines[1] == line_found):
            return None
        start, line, is_missing = lines
        if not by_text and line_found is not None and line in function_lines(source, line_found):
            start = min(start, line_found)
        return Diagnosis(
            first_line=self._locator.frame(line),
            start=None if start == line else start,
            missing=is_missing,
            case=place.case or self._first.number,
        )

    def _lines_by_values(
        self, mistake: Mistake, place: Diagnosis, first_wrong: FirstWrong | None
    ) -> tuple[int, int, bool] | None:
        """Return the first and the last line of a mistake, and whether a step is missing there."""
        recorded = self._recorded
        is_guess = first_wrong is not None and not first_wrong.node.is_comparable
        if place.first_line is None or self._first.check == "runs" or is_guess:
            index, first_wrong = self._index_that_runs, None
        else:
            index = recorded.index if recorded and first_wrong else None
        if index is None:
            return None
        if recorded is None or recorded.index != index:
            recorded = self._recorded_in(index)
        mistaken = self._references.graph((mistake.id,), index)
        if recorded is None or mistaken is None:
            return None
        source = self._judgement.submission.source
        named = NamedMistake(recorded, mistaken, self._references.source, mistake, source)
        if place.first_line is None and (gap := named.gap()):
            return *gap, True
        lines = named.lines(first_wrong, is_missing=place.missing)
        return None if lines is None else (*lines, False)

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

    def _elsewhere(self, place: Diagnosis) -> Iterator[WrongFunction]:
        """Yield the first wrong lines of the functions that the explained case does not call.

        A challenge of several functions has cases for each of them: the input `function` of a case
        names the function that is called.
        """
        if place.first_line is None or place.case is None:
            return
        names = {signature.name for signature in self._case_set.content.signatures}
        cases = self._case_set.cases
        first_wrong_cases: dict[str, int] = {}
        for observed in self._reported.wrong_cases:
            function = cases[observed.index].inputs.get("function")
            if isinstance(function, str) and function in names:
                first_wrong_cases.setdefault(function, observed.index)
        first_wrong_cases.pop(str(cases[place.case - 1].inputs.get("function")), None)
        seen = {place.first_line.line}
        for function, index in first_wrong_cases.items():
            recorded = self._recorded_in(index, of_all_answers=True)
            if recorded is None or recorded.is_right_alone:
                continue
            there, _ = self._locator.place_of_wrong_value(recorded, None, None) or (place, None)
            if there.first_line is not None and there.first_line.line not in seen:
                seen.add(there.first_line.line)
                yield WrongFunction(function, index + 1, there.first_line)

    def _output_relation(self) -> str | None:
        """Return how the wrong output of the explained case relates to the right output."""
        number, mismatch = self._first.number, self._first.mismatch
        if number is None or mismatch is None or mismatch.kind not in ("value", "shape"):
            return None
        result = self._judgement.comparison.result_of(number - 1)
        if result is None or mismatch.tensor not in result.expected.outputs:
            return None
        expected = result.expected.outputs[mismatch.tensor].value
        value = result.value_of(result.reply.outputs.get(mismatch.tensor))
        dims = result.case.dims.get(mismatch.tensor, "")
        return None if value is None else relation(value, expected, dims, dict(result.case.sizes))

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
