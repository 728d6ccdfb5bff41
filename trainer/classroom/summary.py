"""What a class's results say together: who passed, how the scores lie, which checks fail, which mistakes are common."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trainer.classroom.assignment import total
from trainer.classroom.excerpts import anonymous, hidden, name_words
from trainer.classroom.records import Assignment, Excerpt, StudentResult
from trainer.model.checks import CHECK_ORDER, Verdict

BINS = 10
_CANDIDATES = 8  # excerpts kept for each mistake: the one in which the least is hidden is shown


@dataclass(frozen=True)
class Distribution:
    """How scores of 0 to 100 lie. `bins`: how many in [0, 10), [10, 20) … [90, 100]. Mean and median are None where there are none."""

    bins: tuple[int, ...]
    mean: float | None
    median: float | None

    @property
    def count(self) -> int:
        """How many scores there are."""
        return sum(self.bins)


@dataclass(frozen=True)
class CheckRate:
    """How one check went. `skipped`: due, but not made because something that it needs had failed; `due` counts these too."""

    check: str
    due: int
    failed: int
    skipped: int

    @property
    def rate(self) -> float:
        """The share of those for whom it was due that failed it."""
        return self.failed / self.due if self.due else 0.0


@dataclass(frozen=True)
class CommonMistake:
    """A known mistake, how many students made it, and lines of one of them that do not say whose they are."""

    id: str
    says: str
    students: int
    excerpt: Excerpt | None


@dataclass(frozen=True)
class ChallengeSummary:
    """One challenge. `verdicts`: the most frequent first, None for gradings that failed. `checks`: those that failed most often first."""

    challenge: str
    verdicts: Mapping[Verdict | None, int]
    scores: Distribution
    checks: tuple[CheckRate, ...]
    mistakes: tuple[CommonMistake, ...]


@dataclass(frozen=True)
class Handed:
    """A student's submission to one challenge; `why` where there is something to say of it."""

    student: str
    challenge: str
    why: str = ""


@dataclass(frozen=True)
class ClassSummary:
    """All challenges of an assignment.

    total       the scores over all challenges, of the students that have one
    challenges  in the assignment's order
    late        those handed in after the date
    not_graded  those whose grading failed, with the reason
    to_settle   those for whom several files came under one name, with what to do
    missing     a student has a result for another challenge, but none for this one
    """

    students: int
    submissions: int
    verdicts: Mapping[Verdict | None, int]
    total: Distribution
    challenges: tuple[ChallengeSummary, ...]
    late: tuple[Handed, ...]
    not_graded: tuple[Handed, ...]
    to_settle: tuple[Handed, ...]
    missing: tuple[Handed, ...]


def summarise(results: Iterable[StudentResult], assignment: Assignment) -> ClassSummary:
    """Go through the results once; what is kept of each is a few numbers."""
    gathered = {one.challenge: _Gathered() for one in assignment.asked}
    scores: dict[str, dict[str, float | None]] = {}
    late: list[Handed] = []
    not_graded: list[Handed] = []
    to_settle: list[Handed] = []
    for result in results:
        gathered.setdefault(result.challenge, _Gathered()).add(result)
        scores.setdefault(result.student, {})[result.challenge] = result.score
        if result.late:
            late.append(Handed(result.student, result.challenge))
        if result.unsettled:
            to_settle.append(
                Handed(
                    result.student, result.challenge, result.error or ", ".join(result.unsettled)
                )
            )
        elif result.verdict is None:
            not_graded.append(
                Handed(result.student, result.challenge, result.error or "no reason is known")
            )
    names = frozenset(word for student in scores for word in name_words(student))
    parts = tuple(part.summary(challenge, names) for challenge, part in gathered.items())
    verdicts: Counter[Verdict | None] = Counter()
    for part in parts:
        verdicts.update(part.verdicts)
    totals = [total(one, assignment) for one in scores.values()]
    return ClassSummary(
        students=len(scores),
        submissions=sum(verdicts.values()),
        verdicts=dict(verdicts.most_common()),
        total=distribution([one for one in totals if one is not None]),
        challenges=parts,
        late=tuple(late),
        not_graded=tuple(not_graded),
        to_settle=tuple(to_settle),
        missing=tuple(
            Handed(student, one.challenge)
            for student, had in scores.items()
            for one in assignment.asked
            if one.challenge not in had
        ),
    )


def distribution(scores: Sequence[float]) -> Distribution:
    """Ten bins, mean and median of scores of 0 to 100; the last bin has 100 in it."""
    bins = [0] * BINS
    for score in scores:
        bins[max(0, min(BINS - 1, int(score * BINS / 100)))] += 1
    if not scores:
        return Distribution(tuple(bins), None, None)
    return Distribution(tuple(bins), statistics.fmean(scores), statistics.median(scores))


class _Gathered:
    """What is kept of one challenge's results while they go by."""

    def __init__(self) -> None:
        self.verdicts: Counter[Verdict | None] = Counter()
        self.scores: list[float] = []
        self.statuses: dict[str, Counter[str]] = {}
        self.mistakes: dict[str, str] = {}
        self.students: Counter[str] = Counter()
        self.candidates: dict[str, list[tuple[bool, str, Excerpt]]] = {}

    def add(self, result: StudentResult) -> None:
        self.verdicts[result.verdict] += 1
        if result.verdict is None:
            return
        if result.score is not None:
            self.scores.append(result.score)
        for check, status in result.statuses().items():
            self.statuses.setdefault(check, Counter())[status] += 1
        named = {mistake.id: mistake for mistake in result.mistakes}
        for one in named.values():
            self.mistakes.setdefault(one.id, one.says)
            self.students[one.id] += 1
            kept = self.candidates.setdefault(one.id, [])
            if result.excerpt is not None and len(kept) < _CANDIDATES:
                kept.append((len(named) > 1, result.student, result.excerpt))

    def summary(self, challenge: str, names: frozenset[str]) -> ChallengeSummary:
        checks = [
            CheckRate(check, sum(found.values()), found["failed"], found["skipped"])
            for check, found in sorted(
                self.statuses.items(), key=lambda one: CHECK_ORDER.index(one[0])
            )
        ]
        mistakes = (
            CommonMistake(one, self.mistakes[one], count, self._excerpt(one, names))
            for one, count in self.students.items()
        )
        return ChallengeSummary(
            challenge=challenge,
            verdicts=dict(self.verdicts.most_common()),
            scores=distribution(self.scores),
            checks=tuple(sorted(checks, key=lambda one: -one.rate)),
            mistakes=tuple(sorted(mistakes, key=lambda one: (-one.students, one.id))),
        )

    def _excerpt(self, mistake: str, names: frozenset[str]) -> Excerpt | None:
        """Of those who made this mistake alone if there are any, the excerpt in which the least is hidden."""
        found = [(both, hidden(shown), shown) for both, shown in self._shown(mistake, names)]
        return min(found, key=lambda one: one[:2])[2] if found else None

    def _shown(self, mistake: str, names: frozenset[str]) -> Iterator[tuple[bool, Excerpt]]:
        for both, student, excerpt in self.candidates[mistake]:
            # Of one's own name the shorter words count too.
            shown = anonymous(excerpt, names | name_words(student, 2))
            if shown is not None:
                yield both, shown
