"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import pytest

from tests.support.class_outputs import EVERYONE
from tests.support.class_results import (
    INVERTED,
    NO_SCALE,
    SETTLE,
    TILED,
    assignment,
    result,
    unsettled,
)
from trainer.classroom.excerpts import name_words
from trainer.classroom.records import Excerpt
from trainer.classroom.summary import CheckRate, Handed, distribution, summarise


def test_a_summary_counts_what_there_is() -> None:
    """Verdicts, scores, checks, lateness and failed gradings of a class of five, by hand."""
    results = [
        result("Ann", late=True),
        result(
            "Ben",
            verdict="failed",
            failed=("values",),
            skipped=("masks", "gradients"),
            mistakes=(NO_SCALE,),
        ),
        result("Cy", verdict="failed", failed=("values", "masks"), mistakes=(NO_SCALE, TILED)),
        result(
            "Di",
            verdict=None,
        ),
        result("Ed", verdict="not-allowed", failed=("from scratch",)),
    ]
    found = summarise(results, assignment())
    only = found.challenges[0]
    assert (found.students, found.submissions) == (5, 5)
    assert found.verdicts == {"failed": 2, "passed": 1, None: 1, "not-allowed": 1}
    assert only.verdicts == found.verdicts
    scores = [0.0, 70.0, 80.0, 100.0]
    assert only.scores.mean == pytest.approx(sum(scores) / 4)
    assert only.scores.median == pytest.approx((scores[1] + scores[2]) / 2)
    assert only.scores.bins == (1, 0, 0, 0, 0, 0, 0, 1, 1, 1)
    assert only.checks[:3] == (
        CheckRate("values", 4, 2, 0),
        CheckRate("masks", 4, 1, 1),
        CheckRate("from scratch", 4, 1, 0),
    )
    assert CheckRate("gradients", 4, 0, 1) in only.checks
    assert [(one.id, one.students, one.says) for one in only.mistakes] == [
        (NO_SCALE.id, 2, NO_SCALE.says),
        (TILED.id, 1, TILED.says),
    ]
    assert found.late == (Handed("Ann", "first"),)
    assert found.not_graded == (Handed("Di", "first", results[3].error or ""),)
    assert found.missing == ()


def test_several_challenges_are_summed_by_their_worth() -> None:
    """The second is worth twice the first; a student without a score in one has none in total, and is named."""
    results = [
        result("Ann", "first", score=40.0),
        result("Ann", "second", score=100.0),
        result("Ben", "first", score=40.0),
        result("Cy", "first", score=10.0),
        result("Cy", "second", None),
    ]
    found = summarise(results, assignment(("first", "second")))
    assert (found.students, found.submissions) == (3, 5)
    assert [one.challenge for one in found.challenges] == ["first", "second"]
    assert found.total.count == 1
    assert found.total.mean == pytest.approx(80.0)
    assert found.challenges[0].scores.mean == pytest.approx(30.0)
    assert found.missing == (Handed("Ben", "second"),)


def test_the_ends_of_the_bins() -> None:
    """A score belongs to the bin that it begins; 100 has none of its own."""
    assert distribution([0.0, 9.9, 10.0, 89.9, 90.0, 100.0]).bins == (2, 1, 0, 0, 0, 0, 0, 0, 1, 2)
    empty = distribution([])
    assert (empty.bins, empty.mean, empty.median) == ((0,) * 10, None, None)


def test_a_class_of_nobody_has_a_summary() -> None:
    """No results are no error."""
    found = summarise(iter(()), assignment())
    assert (found.students, found.verdicts, found.total.mean) == (0, {}, None)


def test_no_excerpt_of_a_class_has_anybodys_name() -> None:
    """The name stood in the docstring, the comments, the strings and an identifier of every excerpt."""
    names = frozenset(word for one in EVERYONE for word in name_words(one.student))
    mistakes = summarise(EVERYONE, assignment()).challenges[0].mistakes
    assert {one.id for one in mistakes} == {NO_SCALE.id, TILED.id, INVERTED.id}
    for one in mistakes:
        assert one.excerpt is not None
        shown = "\n".join(one.excerpt.lines)
        assert "scores = q @ k.transpose(-2, -1)" in shown
        assert (
            one.excerpt.lines[one.excerpt.marked - one.excerpt.first]
            == "scores = q @ k.transpose(-2, -1)"
        )
        assert not name_words(shown) & names
        assert not any(mark in shown for mark in ("#", "uni", "by ", "wrote", '"""'))


def test_the_excerpt_with_the_least_hidden_is_taken() -> None:
    """Of one who made this mistake alone, and nothing hidden before something hidden."""
    plain = Excerpt(first=1, marked=1, lines=("scores = q @ k.mT",))
    named = Excerpt(first=1, marked=1, lines=("scores = cy @ k.mT",))
    both = Excerpt(first=1, marked=1, lines=("scores = of_two",))
    results = [
        result(
            "Ann", verdict="failed", failed=("values",), mistakes=(NO_SCALE, TILED), excerpt=both
        ),
        result("Cy", verdict="failed", failed=("values",), mistakes=(NO_SCALE,), excerpt=named),
        result("Di", verdict="failed", failed=("values",), mistakes=(NO_SCALE,), excerpt=plain),
        result("Ed", verdict="failed", failed=("values",), mistakes=(TILED,), excerpt=None),
    ]
    mistakes = {
        one.id: one.excerpt for one in summarise(results, assignment()).challenges[0].mistakes
    }
    assert mistakes == {NO_SCALE.id: plain, TILED.id: both}


def test_several_submissions_of_one_name_are_no_failed_grading() -> None:
    """The summary of the class lists them apart, and no score counts."""
    found = summarise(
        [result("Ann"), unsettled(), result("Di", verdict=None, error="it broke")], assignment()
    )
    assert found.to_settle == (Handed("bob", "first", SETTLE),)
    assert found.not_graded == (Handed("Di", "first", "it broke"),)
    assert (found.total.count, found.verdicts) == (1, {"passed": 1, None: 2})
