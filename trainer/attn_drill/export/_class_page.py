"""Write the results of a class as HTML pages, with the template `class.html.jinja`.

The summary has the verdicts, the scores, the failed checks and the common mistakes. A submission
that was not graded is in none of its figures except the count of verdicts.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from attn_drill.classroom.anonymity import Hide, excerpt_of, name_hider
from attn_drill.classroom.records import Gradebook, StudentResult
from attn_drill.classroom.similarity import SameText
from attn_drill.export._grade_words import (
    by_kind,
    challenge_shares,
    check_weights,
    details,
    notes_of,
    points_lines,
    points_rows,
    remarks,
    rules,
)
from attn_drill.model.challenge import Mistake
from attn_drill.model.checks import CHECK_ORDER, Verdict
from attn_drill.report.class_text import VERDICTS, likely, points
from attn_drill.report.pages import page
from attn_drill.report.wording import coloured

BINS = 10

# "class" names nobody. "markers" has anonymous ids, no next steps, and the whole file of each
# student.
Reader = Literal["teacher", "class", "markers"]


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


def class_html(
    gradebook: Gradebook,
    reader: Reader = "teacher",
    same_texts: Sequence[tuple[str, SameText]] = (),
) -> Iterator[str]:
    """Yield the page in small pieces.

    Args:
        gradebook: the grades of the class.
        reader: the person for whom the page is.
        same_texts: the files with the same text, each with its challenge, for the teacher.
    """
    summary = summarise(gradebook)
    assignment = gradebook.assignment
    assigned = {each.challenge: each for each in assignment.challenges}
    mistakes = [
        (challenge.challenge, mistake)
        for challenge in summary.challenges
        for mistake in challenge.mistakes
    ]
    return page(
        "class",
        title=assignment.title,
        reader=reader,
        summary=summary,
        challenges=assignment.challenge_ids,
        mistakes=sorted(mistakes, key=lambda pair: -pair[1].students),
        shares=challenge_shares(assignment),
        assigned=assigned,
        check_weights=check_weights,
        rules=rules(assignment),
        looks=by_kind(notes_of(gradebook)),
        same_texts=same_texts,
        gradebook=gradebook,
        details=details,
        points_lines=lambda result: points_lines(points_rows(result, assigned[result.challenge])),
        verdicts=VERDICTS,
        # A link must not have the name of a student.
        anchors={
            (result.student, result.challenge): f"report-{number}"
            for number, result in enumerate(gradebook.results, 1)
        },
        coloured=coloured,
        points=points,
        likely=likely,
        remarks=remarks,
    )
