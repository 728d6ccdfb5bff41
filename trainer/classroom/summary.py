"""Summarise the results of a class: verdicts, scores, failed checks and common mistakes."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trainer.classroom.excerpts import anonymised, hidden_count, name_words
from trainer.classroom.records import Excerpt, Gradebook, StudentResult
from trainer.model.checks import CHECK_ORDER, Verdict

BINS = 10
# Excerpts kept for each mistake. The report shows the excerpt with the fewest hidden places.
_CANDIDATES = 8


@dataclass(frozen=True)
class Distribution:
    """The distribution of scores of 0 to 100.

    Attributes:
        bins: the number of scores in [0, 10), [10, 20) … [90, 100].
        mean: the mean, or None without scores.
        median: the median, or None without scores.
    """

    bins: tuple[int, ...]
    mean: float | None
    median: float | None

    @property
    def count(self) -> int:
        """The number of scores."""
        return sum(self.bins)


@dataclass(frozen=True)
class CheckRate:
    """The results of a class for one check.

    Attributes:
        check: the name of the check.
        due: the number of submissions for which the check was due, including skipped checks.
        failed: the number of submissions that failed the check.
        skipped: the number of submissions for which the check did not run, because a check that
            it needs failed.
    """

    check: str
    due: int
    failed: int
    skipped: int

    @property
    def rate(self) -> float:
        """The share of the due submissions that failed the check, 0 to 1."""
        return self.failed / self.due if self.due else 0.0


@dataclass(frozen=True)
class CommonMistake:
    """A known mistake, the number of students who made it, and an anonymous excerpt of one."""

    id: str
    says: str
    students: int
    excerpt: Excerpt | None


@dataclass(frozen=True)
class ChallengeSummary:
    """The results of a class for one challenge.

    Attributes:
        challenge: the id of the challenge.
        verdicts: the number of submissions by verdict, the most frequent verdict first. None is
            the key for submissions on which the grader failed.
        scores: the distribution of the points that count, with penalties and overrides.
        checks: the checks, the most often failed check first.
        mistakes: the known mistakes, the most common first.
    """

    challenge: str
    verdicts: Mapping[Verdict | None, int]
    scores: Distribution
    checks: tuple[CheckRate, ...]
    mistakes: tuple[CommonMistake, ...]


@dataclass(frozen=True)
class ClassSummary:
    """The results of a class for all challenges of an assignment.

    Attributes:
        students: the number of students with a result.
        submissions: the number of submissions.
        verdicts: the number of submissions by verdict.
        total: the distribution of the totals, of all students with a total. Penalties and overrides
            count.
        challenges: the challenges in the order of the assignment.
    """

    students: int
    submissions: int
    verdicts: Mapping[Verdict | None, int]
    total: Distribution
    challenges: tuple[ChallengeSummary, ...]


def summarise(results: Iterable[StudentResult], gradebook: Gradebook) -> ClassSummary:
    """Return the summary of a class.

    Read the results once and keep only a few counts of each, because a class may not fit into
    memory.

    Args:
        results: the results of the class.
        gradebook: the grades of the class. Its points are those of the distributions.
    """
    gathered = {
        assigned.challenge: _ChallengeCounts() for assigned in gradebook.assignment.challenges
    }
    students: set[str] = set()
    for result in results:
        gathered.setdefault(result.challenge, _ChallengeCounts()).add(result)
        students.add(result.student)
    for row in gradebook.rows:
        for challenge, grade in row.challenges.items():
            if grade.points is not None:
                gathered[challenge].points.append(grade.points)
    names = students | set(_names(gradebook))
    words = frozenset(word for name in names for word in name_words(name))
    parts = tuple(part.summary(challenge, words) for challenge, part in gathered.items())
    verdicts: Counter[Verdict | None] = Counter()
    for part in parts:
        verdicts.update(part.verdicts)
    return ClassSummary(
        students=len(students),
        submissions=sum(verdicts.values()),
        verdicts=dict(verdicts.most_common()),
        total=distribution([row.total for row in gradebook.rows if row.total is not None]),
        challenges=parts,
    )


def _names(gradebook: Gradebook) -> Iterator[str]:
    """Yield everything that identifies a student of the class."""
    for row in gradebook.rows:
        student = row.student
        yield from (student.name, student.id, student.login, student.email.partition("@")[0])


def distribution(scores: Sequence[float]) -> Distribution:
    """Return ten bins, the mean and the median of scores of 0 to 100.

    A score of 100 belongs to the last bin.
    """
    bins = [0] * BINS
    for score in scores:
        bins[max(0, min(BINS - 1, int(score * BINS / 100)))] += 1
    if not scores:
        return Distribution(tuple(bins), None, None)
    return Distribution(tuple(bins), statistics.fmean(scores), statistics.median(scores))


class _ChallengeCounts:
    """The counts and excerpts of one challenge, collected result by result."""

    def __init__(self) -> None:
        self.verdicts: Counter[Verdict | None] = Counter()
        self.points: list[float] = []
        self.statuses: dict[str, Counter[str]] = {}
        self.mistakes: dict[str, str] = {}
        self.students: Counter[str] = Counter()
        self.candidates: dict[str, list[tuple[bool, str, Excerpt]]] = {}

    def add(self, result: StudentResult) -> None:
        self.verdicts[result.verdict] += 1
        if result.verdict is None:
            return
        for check, status in result.statuses().items():
            self.statuses.setdefault(check, Counter())[status] += 1
        by_id = {mistake.id: mistake for mistake in result.mistakes}
        for mistake in by_id.values():
            self.mistakes.setdefault(mistake.id, mistake.says)
            self.students[mistake.id] += 1
            candidates = self.candidates.setdefault(mistake.id, [])
            if result.excerpt is not None and len(candidates) < _CANDIDATES:
                candidates.append((len(by_id) > 1, result.student, result.excerpt))

    def summary(self, challenge: str, names: frozenset[str]) -> ChallengeSummary:
        checks = [
            CheckRate(check, sum(counts.values()), counts["failed"], counts["skipped"])
            for check, counts in sorted(
                self.statuses.items(), key=lambda item: CHECK_ORDER.index(item[0])
            )
        ]
        mistakes = (
            CommonMistake(
                mistake_id, self.mistakes[mistake_id], count, self._excerpt(mistake_id, names)
            )
            for mistake_id, count in self.students.items()
        )
        return ChallengeSummary(
            challenge=challenge,
            verdicts=dict(self.verdicts.most_common()),
            scores=distribution(self.points),
            checks=tuple(sorted(checks, key=lambda check: -check.rate)),
            mistakes=tuple(sorted(mistakes, key=lambda mistake: (-mistake.students, mistake.id))),
        )

    def _excerpt(self, mistake: str, names: frozenset[str]) -> Excerpt | None:
        """Return the best excerpt that shows a mistake, or None.

        Prefer students who made no other mistake, then excerpts with few hidden places.
        """
        ranked = [
            (has_others, hidden_count(shown), shown)
            for has_others, shown in self._shown(mistake, names)
        ]
        return min(ranked, key=lambda candidate: candidate[:2])[2] if ranked else None

    def _shown(self, mistake: str, names: frozenset[str]) -> Iterator[tuple[bool, Excerpt]]:
        """Yield the anonymous excerpts, and whether their student made another mistake, too."""
        for has_others, student, excerpt in self.candidates[mistake]:
            # In the student's own code, shorter words of the student's name are hidden, too.
            shown = anonymised(excerpt, names | name_words(student, 2))
            if shown is not None:
                yield has_others, shown
