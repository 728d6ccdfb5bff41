"""Summarise the results of a class: verdicts, scores, failed checks and common mistakes.

A submission that was not graded is in none of the figures except the count of verdicts.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainer.classroom.anonymity import Hide, excerpt_of, name_hider
from trainer.classroom.records import Gradebook, StudentResult
from trainer.model.checks import CHECK_ORDER, Verdict

BINS = 10


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
    """A known mistake, the number of students who made it, and the anonymous lines of one or ""."""

    id: str
    says: str
    students: int
    excerpt: str


@dataclass(frozen=True)
class ChallengeSummary:
    """The results of a class for one challenge.

    Attributes:
        challenge: the id of the challenge.
        scores: the distribution of the points that count, with penalties and overrides.
        checks: the checks, the most often failed check first.
        mistakes: the known mistakes, the most common first.
    """

    challenge: str
    scores: Distribution
    checks: tuple[CheckRate, ...]
    mistakes: tuple[CommonMistake, ...]


@dataclass(frozen=True)
class ClassSummary:
    """The results of a class for all challenges of an assignment.

    Attributes:
        students: the number of students with a result.
        submissions: the number of submissions.
        verdicts: the number of submissions by verdict, the most frequent verdict first. None is
            the key for submissions that were not graded.
        total: the distribution of the totals, of all students with a total. Penalties and overrides
            count.
        challenges: the challenges in the order of the assignment.
    """

    students: int
    submissions: int
    verdicts: Mapping[Verdict | None, int]
    total: Distribution
    challenges: tuple[ChallengeSummary, ...]


def summarise(results: Sequence[StudentResult], gradebook: Gradebook) -> ClassSummary:
    """Return the summary of a class. Its excerpts name no student of the gradebook."""
    hide = name_hider(row.student for row in gradebook.rows)
    verdicts = Counter(result.verdict for result in results)
    return ClassSummary(
        students=len({result.student for result in results}),
        submissions=len(results),
        verdicts=dict(verdicts.most_common()),
        total=distribution([row.total for row in gradebook.rows if row.total is not None]),
        challenges=tuple(
            _of_challenge(
                challenge,
                [result for result in results if result.challenge == challenge],
                [
                    row.challenges[challenge].points
                    for row in gradebook.rows
                    if challenge in row.challenges
                ],
                hide,
            )
            for challenge in gradebook.assignment.challenge_ids
        ),
    )


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


def _of_challenge(
    challenge: str, results: Sequence[StudentResult], points: Iterable[float | None], hide: Hide
) -> ChallengeSummary:
    checks = dict[str, Counter[str]]()
    for result in results:
        if result.report is not None and result.report.seed is not None:  # the file was run
            for check, status in result.statuses().items():
                checks.setdefault(check, Counter())[status] += 1
    rates = [
        CheckRate(check, checks[check].total(), checks[check]["failed"], checks[check]["skipped"])
        for check in CHECK_ORDER
        if check in checks
    ]
    says = {mistake.id: mistake.says for result in results for mistake in result.mistakes}
    students = Counter(
        mistake for result in results for mistake in {mistake.id for mistake in result.mistakes}
    )
    mistakes = [
        CommonMistake(mistake, says[mistake], count, _excerpt(mistake, results, hide))
        for mistake, count in sorted(students.items(), key=lambda item: (-item[1], item[0]))
    ]
    return ChallengeSummary(
        challenge,
        distribution([each for each in points if each is not None]),
        tuple(sorted(rates, key=lambda check: -check.rate)),
        tuple(mistakes),
    )


def _excerpt(mistake: str, results: Sequence[StudentResult], hide: Hide) -> str:
    """Return the first excerpt of a student with this mistake only, otherwise of any student."""
    with_mistake = [result for result in results if mistake in {m.id for m in result.mistakes}]
    for result in sorted(with_mistake, key=lambda result: len(result.mistakes) > 1):
        if excerpt := excerpt_of(result.source, result.line, hide):
            return excerpt
    return ""
