"""Ask the light parts of a review line by line: gaps, a planted mistake, follow-up questions."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn
from trainer.cli.ask_questions import answered, is_coloured, question_in_colour, read_line
from trainer.model.challenge import Challenge
from trainer.model.errors import PackError
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.packs.follow_up import FollowUp
from trainer.practice.facts import Reviewed
from trainer.practice.journal import Journal
from trainer.practice.progress import rated_reviews
from trainer.practice.schedule import RATINGS, challenge_of, item_of
from trainer.report.visible import visible

if TYPE_CHECKING:
    from trainer.model.report import Report
    from trainer.practice.review_plan import ReviewPart
    from trainer.quiz.gap_exercise import GapExercise

Grade = Callable[[Submission], "Report"]

_FORM_NAMES = {
    "rewrite": "write it in full",
    "gaps": "fill the gaps",
    "line": "find the wrong line",
    "follow-up": "follow-up question",
}


@dataclass(frozen=True)
class ReviewMaterial:
    """The material of a review's light parts.

    Attributes:
        challenges: The challenges by id.
        follow_ups: The follow-up questions by item.
        known_packs: The packs of this run.
    """

    challenges: Mapping[str, Challenge]
    follow_ups: Mapping[str, FollowUp]
    known_packs: KnownPacks

    def name_of(self, part: ReviewPart) -> str:
        """Return the id of the challenge that a part belongs to."""
        follow_up = self.follow_ups.get(part.item)
        return follow_up.challenge if follow_up else challenge_of(part.item) or part.item


def part_words(part: ReviewPart) -> str:
    """Return the form of a part in words."""
    return _FORM_NAMES[part.form]


def ask_light_parts(
    parts: tuple[ReviewPart, ...], material: ReviewMaterial, journal: Journal, rng: Random
) -> bool:
    """Ask the light parts of a review in order. Record each part as soon as it is complete.

    Args:
        parts: The parts.
        material: The material of the parts.
        journal: The learner's journal.
        rng: The random number generator.

    Returns:
        True if no part is left, or False if the learner stopped or the input ended.
    """
    for number, part in enumerate(parts, start=1):
        title = f"{number} of {len(parts)}  {material.name_of(part)}: {part_words(part)}"
        typer.echo("\n" + typer.style(title, bold=is_coloured()))
        if not _ask(part, material, journal, rng):
            return False
    return True


def _ask(part: ReviewPart, material: ReviewMaterial, journal: Journal, rng: Random) -> bool:
    """Ask a part, and return False if the learner stopped."""
    if part.form == "follow-up":
        from trainer.cli.ask_follow_ups import ask

        return ask([material.follow_ups[part.item]], journal) == 1
    challenge = material.challenges[material.name_of(part)]
    try:
        if part.form == "gaps":
            graded = _gaps_or_line(challenge, material.known_packs, journal, rng)
        else:
            graded = _line(challenge, journal, rng)
    except PackError as error:
        warn([f"{challenge.id} is left out: {error}"])
        return True
    if graded is None:
        return False
    rating, reason = graded
    journal.add(Reviewed(item_of(challenge.id), time.time(), rating=rating, reason=reason))
    typer.echo(f"{challenge.id}: graded {RATINGS[rating - 1]}: {reason}.")
    return True


def _line(challenge: Challenge, journal: Journal, rng: Random) -> tuple[int, str] | None:
    """Ask for the line of a known mistake: a due line, else a new line.

    Returns:
        The rating of the challenge and its reason, or None if the learner stopped.
    """
    from trainer.packs.mistakes import read_mistakes
    from trainer.practice.schedule import items
    from trainer.quiz.question_order import order_items, pool_of

    pool = pool_of((), (challenge,), {challenge.id: read_mistakes(challenge)})
    now = time.time()
    chosen = order_items(pool, items(rated_reviews(journal.facts(), "line:"), now), now, 1, rng)
    if not chosen:
        raise PackError(
            f"it has no known mistakes. `attn-drill review {challenge.id}` hands it out in full."
        )
    drawn = pool.ask(chosen[0], rng)
    width = _width()
    typer.echo(f"\n{question_in_colour(drawn, width)}\n")
    right = answered(drawn, width, journal)
    if right is None:
        return None
    return (3, "planted line found") if right else (1, "planted line not found")


def _gaps_or_line(
    challenge: Challenge, known_packs: KnownPacks, journal: Journal, rng: Random
) -> tuple[int, str] | None:
    """Ask for the gaps of a reference. One with too few places for gaps has a wrong line instead.

    Returns:
        The rating of the challenge and its reason, or None if the learner stopped.
    """
    from trainer.packs.mistakes import read_mistakes
    from trainer.quiz.gap_exercise import gap_exercise, rating

    source = pack_reader.solution(challenge)
    exercise = gap_exercise(source, read_mistakes(challenge), rng)
    if exercise is None:
        return _line(challenge, journal, rng)
    from trainer.app.grade_file import open_grader

    with open_grader(known_packs, challenge) as grade:
        _introduce(exercise)
        right = 0
        for number in range(1, len(exercise.gaps) + 1):
            is_right = _filled(exercise, number, grade)
            if is_right is None:
                return None
            right += is_right
    count = len(exercise.gaps)
    return rating(right, count), f"gaps, {right} of {count} right"


def _introduce(exercise: GapExercise) -> None:
    """Show the code of an exercise, and say what to do."""
    from trainer.report.question_text import indented
    from trainer.report.wording import wrapped

    sentences = (
        "Type the code that stands in each gap; it is graded like an answer in full. "
        "`?` shows an answer that you do not know; `quit` ends."
    )
    if exercise.code.count("____") > len(exercise.gaps):
        sentences += " A gap without a number is not asked: it hides code that is like an answer."
    typer.echo(f"\n{indented(exercise.code, _width())}\n\n{wrapped(sentences, _width())}")


def _filled(exercise: GapExercise, number: int, grade: Grade) -> bool | None:
    """Ask for a gap, and show the code of the reference if the answer is not right.

    Returns:
        True if the answer is right, or None if the learner stopped.
    """
    from trainer.quiz.gap_exercise import typed_expression
    from trainer.report.question_text import indented
    from trainer.report.wording import wrapped

    name, gap = f"____{number}", exercise.gaps[number - 1]
    line = next(line for line in exercise.code.splitlines() if name in line)
    typer.echo(f"\n{indented(line.strip(), _width())}")
    while True:
        given = read_line(f"{name} = ")
        # `q` is the name of a tensor in most references, so it does not end the review here.
        if given is None or given.strip().lower() == "quit":
            return None
        code = typed_expression(given)
        if code is not None or given.strip() == "?":
            break
        typer.echo(
            wrapped("That is no Python expression. Type the code of the gap, or `?`.", _width())
        )
    if code is None:
        typer.echo("Noted as not known.")
    else:
        report = grade(Submission("gap.py", gap.filled(exercise.source, code)))
        if report.verdict == "passed":
            typer.echo(typer.style("Right.", fg="blue" if is_coloured() else None))
            return True
        typer.echo(typer.style("Wrong.", fg="yellow" if is_coloured() else None))
        typer.echo(wrapped(_reason(report), _width()))
    typer.echo(f"The reference has:\n{indented(gap.right, _width())}")
    return False


def _reason(report: Report) -> str:
    """Return the known mistakes of a wrong answer, or else its first failure."""
    if report.diagnosis is not None and report.diagnosis.mistakes:
        return " ".join(mistake.says for mistake in report.diagnosis.mistakes)
    failure = report.first_failure()
    message = "" if failure is None else failure.message
    # The learner does not see the numbers of the reference's lines.
    message = re.sub(r" at line \d+| \(line \d+\)", "", message)
    return f"{visible(message).rstrip('.')}."


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns
