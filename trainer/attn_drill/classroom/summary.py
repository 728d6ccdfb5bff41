"""Summarise the results of a class: verdicts, scores, failed checks and common mistakes.

A submission that was not graded is in none of the figures except the count of verdicts.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from attn_drill.classroom.anonymity import Hide, excerpt_of, name_hider
from attn_drill.classroom.records import Gradebook, StudentResult
from attn_drill.model.challenge import Mistake
from attn_drill.model.checks import CHECK_ORDER, Verdict

BINS = 10


@dataclass(frozen=True)
class Distribution:
    """The distribution of scores of 0 to 100. Without scores, mean and median are None."""

    bins: tuple[int, ...]  # the number of scores in [0, 10), [10, 20) … [90, 100]
    mean: float | None
    median: float | None

    @property
    def count(self) -> int:
        return sum(self.bins)

    @property
    def in_words(self) -> str:
        """The counts of the bins, for example `0 to 10: 12, 90 to 100: 30`."""
        filled = [(10 * index, count) for index, count in enumerate(self.bins) if count]
        return ", ".join(f"{low} to {low + 10}: {count}" for low, count in filled) or "none"


@dataclass(frozen=True)
class CheckRate:
    """How many submissions failed a check, of those for which it was due."""

    check: str
    due: int
    failed: int
    skipped: int  # a check that it needs failed

    @property
    def rate(self) -> float:
        return self.failed / self.due


@dataclass(frozen=True)
class CommonMistake:
    """A known mistake of a class."""

    id: str
    says: str
    students: int  # who made it
    excerpt: str  # the anonymous lines of one of them, or ""


@dataclass(frozen=True)
class ChallengeSummary:
    """The results of a class for one challenge, the worst check and the commonest mistake first."""

    challenge: str
    scores: Distribution  # of the points that count, with penalties and overrides
    checks: tuple[CheckRate, ...]
    mistakes: tuple[CommonMistake, ...]


@dataclass(frozen=True)
class ClassSummary:
    """The results of a class for all challenges of an assignment, in its order."""

    students: int  # who handed in something
    submissions: int
    verdicts: Mapping[Verdict | None, int]  # None for submissions that were not graded
    total: Distribution
    challenges: tuple[ChallengeSummary, ...]


def summarise(gradebook: Gradebook) -> ClassSummary:
    """Return the summary of a class. Its excerpts name no student of the gradebook."""
    hide = name_hider(row.student for row in gradebook.rows)
    results = gradebook.results
    return ClassSummary(
        students=len({result.student for result in results}),
        submissions=len(results),
        verdicts=Counter(result.verdict for result in results),
        total=distribution(row.total for row in gradebook.rows),
        challenges=tuple(
            _of_challenge(challenge, gradebook, hide)
            for challenge in gradebook.assignment.challenge_ids
        ),
    )


def distribution(points: Iterable[float | None]) -> Distribution:
    """Return the distribution of the points of 0 to 100 that are not None."""
    scores = [each for each in points if each is not None]
    # A score of 100 belongs to the last bin.
    counts = Counter(min(BINS - 1, int(score * BINS / 100)) for score in scores)
    return Distribution(
        tuple(counts[index] for index in range(BINS)),
        statistics.fmean(scores) if scores else None,
        statistics.median(scores) if scores else None,
    )


def _of_challenge(challenge: str, gradebook: Gradebook, hide: Hide) -> ChallengeSummary:
    grades = [row.challenges[challenge] for row in gradebook.rows if challenge in row.challenges]
    checks = dict[str, Counter[str]]()
    with_mistake = dict[Mistake, list[StudentResult]]()
    for result in filter(None, (grade.result for grade in grades)):
        if result.report is not None and result.report.seed is not None:  # the file was run
            for check, status in result.statuses().items():
                checks.setdefault(check, Counter())[status] += 1
        for mistake in result.mistakes:
            with_mistake.setdefault(mistake, []).append(result)
    rates = [
        CheckRate(check, checks[check].total(), checks[check]["failed"], checks[check]["skipped"])
        for check in CHECK_ORDER
        if check in checks
    ]
    mistakes = [
        CommonMistake(mistake.id, mistake.says, len(results), _excerpt(results, hide))
        for mistake, results in with_mistake.items()
    ]
    return ChallengeSummary(
        challenge,
        distribution(grade.points for grade in grades),
        tuple(sorted(rates, key=lambda check: -check.rate)),
        tuple(sorted(mistakes, key=lambda mistake: (-mistake.students, mistake.id))),
    )


def _excerpt(results: Sequence[StudentResult], hide: Hide) -> str:
    """Return the first excerpt of a student with one mistake only, otherwise of any student."""
    for result in sorted(results, key=lambda result: len(result.mistakes) > 1):
        if excerpt := excerpt_of(result.source, result.line, hide):
            return excerpt
    return ""
