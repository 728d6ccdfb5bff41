"""Tests of planting mistakes in a reference for bug hunts."""

import ast
import io
import tokenize
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from attn_drill.exercises.altered_reference import (
    choose_mistakes,
    fair_mistakes,
    hunt_file_text,
    plant_mistakes,
    reference_changes,
    strip_comments,
)
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch, patch_all, read_mistakes
from tests.support.exercises import BY_ID, CHALLENGES, SOURCE

IDS = [challenge.id for challenge in CHALLENGES]


def comments(text: str) -> list[str]:
    """Return all comments of a Python text."""
    return [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]


def code(text: str) -> str:
    """Return the code of a module without its docstring."""
    tree = ast.parse(text)
    return ast.dump(ast.Module(tree.body[1:], []))


@pytest.mark.thorough
@pytest.mark.sampled(28)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_hunt_file_does_not_show_where_the_mistake_is(challenge: Challenge) -> None:
    """The file has the patch and nothing else about the mistake.

    It has no comments, no words about the mistake, and no gap in place of a removed line.
    """
    reference = pack_reader.solution(challenge)
    assert comments(reference), "the reference has no comments to remove"
    for mistake in read_mistakes(challenge):
        text = hunt_file_text(challenge, (mistake,))
        patched = patch(reference, mistake, challenge.id)
        assert code(text) == code(patched), mistake.id
        assert comments(text) == [], mistake.id
        assert mistake.was not in text or mistake.was in mistake.now, mistake.id
        assert mistake.says not in text, mistake.id
        assert mistake.hint not in text, mistake.id
        assert mistake.id not in text or mistake.id in patched, mistake.id
        body = text[text.index('"""', 3) :]
        assert all(line == line.rstrip() for line in body.splitlines()), mistake.id
        assert "\n\n\n    " not in body, mistake.id
        assert "\n\n\n\n" not in body, mistake.id


@pytest.mark.sampled(28)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_changed_lines_are_the_only_difference(challenge: Challenge) -> None:
    """All other lines are in the reference too. Every changed line is a line of code."""
    reference = Counter(strip_comments(pack_reader.solution(challenge)).splitlines())
    for mistake in read_mistakes(challenge):
        planted = plant_mistakes(pack_reader.solution(challenge), (mistake,), challenge.id)
        lines = planted.source.splitlines()
        assert planted.changed, mistake.id
        assert all(lines[line_number - 1].strip() for line_number in planted.changed), mistake.id
        others = Counter(
            line
            for line_number, line in enumerate(lines, start=1)
            if line and line_number not in planted.changed
        )
        assert not others - reference, mistake.id
        most_lost = (mistake.was.strip("\n").count("\n") + 1) + (2 if planted.missing else 0)
        assert (
            others.total() >= sum(count for line, count in reference.items() if line) - most_lost
        ), mistake.id


@pytest.mark.thorough
@pytest.mark.sampled(28)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_reported_lines_have_the_numbers_of_the_reference(challenge: Challenge) -> None:
    """The line numbers are those that `solution` shows."""
    lines = pack_reader.solution(challenge).splitlines()
    for mistake in read_mistakes(challenge):
        changes = reference_changes(pack_reader.solution(challenge), mistake, challenge.id)
        assert changes, mistake.id
        for change in changes:
            for line_number, line in enumerate(change.was, start=change.first):
                assert lines[line_number - 1].startswith(line), mistake.id


def test_two_mistakes_are_planted_together() -> None:
    """The order in which they are named does not matter."""
    challenge = BY_ID["gqa"]
    known = {mistake.id: mistake for mistake in read_mistakes(challenge)}
    scale, tiled = known["no-scale"], known["heads-tiled"]
    source = pack_reader.solution(challenge)
    both = patch_all(source, (scale, tiled), "")
    assert (
        both == patch_all(source, (tiled, scale), "") == patch(patch(source, scale, ""), tiled, "")
    )
    changed = plant_mistakes(source, (scale, tiled), "").changed
    assert set(changed) > set(plant_mistakes(source, (tiled,), "").changed)
    assert "two mistakes" in hunt_file_text(challenge, (scale, tiled))
    assert "one mistake " in hunt_file_text(challenge, (scale,))


@pytest.mark.sampled(28)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_two_chosen_mistakes_change_different_lines(challenge: Challenge) -> None:
    """Each mistake has to be repaired separately."""
    source, mistakes = pack_reader.solution(challenge), read_mistakes(challenge)
    pairs = [
        chosen
        for seed in range(40)
        if len(chosen := choose_mistakes(mistakes, source, (), Random(seed))) == 2
    ]
    assert pairs
    for first, second in pairs:
        both = code(hunt_file_text(challenge, (first, second)))
        assert (
            len(
                {
                    both,
                    code(hunt_file_text(challenge, (first,))),
                    code(hunt_file_text(challenge, (second,))),
                }
            )
            == 3
        )
        assert source.index(first.was) + len(first.was) <= source.index(second.was)


@pytest.mark.thorough
def test_mistakes_are_not_chosen_twice_in_a_row() -> None:
    """About a third of the hunts have two mistakes. The same seed chooses the same mistakes."""
    challenge = BY_ID["masks"]
    source, mistakes = pack_reader.solution(challenge), read_mistakes(challenge)
    rng = Random(5)
    last: tuple[str, ...] = ()
    sizes: Counter[int] = Counter()
    for _ in range(200):
        chosen = tuple(mistake.id for mistake in choose_mistakes(mistakes, source, last, rng))
        assert set(chosen) != set(last)
        sizes[len(chosen)] += 1
        last = chosen
    assert set(sizes) == {1, 2}
    assert 0.25 < sizes[2] / 200 < 0.42
    for seed in range(10):
        first = choose_mistakes(mistakes, source, (), Random(seed))
        assert choose_mistakes(mistakes, source, (), Random(seed)) == first
        again = choose_mistakes(
            mistakes, source, [mistake.id for mistake in reversed(first)], Random(seed)
        )
        assert {mistake.id for mistake in again} != {mistake.id for mistake in first}


def test_two_mistakes_on_one_line_alternate() -> None:
    """If there is only first mistake, it is chosen again."""
    first, second = (
        Mistake(name, "x * 2", now, "", "") for name, now in (("a", "x * 3"), ("b", "x * 4"))
    )
    for seed in range(20):
        assert choose_mistakes((first, second), SOURCE, ("a",), Random(seed)) == (second,)
        assert choose_mistakes((first,), SOURCE, ("a",), Random(seed)) == (first,)
        # `plant_mistakes` reports a mistake that does not fit.
        other = (replace(first, was="gone"),)
        assert choose_mistakes(other, SOURCE, (), Random(seed)) == other


def test_contrived_mistakes_are_planted_only_if_there_are_no_others() -> None:
    """A reader sees `if False:` at once, so that no challenge of the built-in pack plants it."""
    plain = Mistake("b", "x * 2", "x * 3", "", "")
    contrived = Mistake("a", "x * 2", "x * 2 * 0.37", "", "", contrived=True)
    assert fair_mistakes([contrived, plain]) == [plain]
    assert fair_mistakes([contrived]) == [contrived]
    for challenge in CHALLENGES:
        mistakes = read_mistakes(challenge)
        fair = fair_mistakes(mistakes)
        assert not any("if False" in mistake.now for mistake in fair), challenge.id
        assert max(8, len(mistakes) / 3) <= len(fair) < len(mistakes), challenge.id


def test_comments_are_removed_and_strings_stay() -> None:
    """The spaces before a comment are removed too. Empty lines in a docstring stay."""
    bare = strip_comments(SOURCE)
    assert comments(bare) == []
    assert bare == SOURCE.replace("    # why it is so\n", "").replace("  # [B, L]", "").replace(
        "  # [B]", ""
    )


def test_removed_line_leaves_no_gap() -> None:
    """There is no empty line, no line of spaces, and no double gap."""
    gone = Mistake("gone", "y = x * 2", "", "", "")
    planted = plant_mistakes(SOURCE.replace("return y, z", "return z"), (gone,), "")
    assert '# no comment"""\n    z = ' in planted.source.replace("\n\n", "\n")
    assert "    \n" not in planted.source
    assert planted.missing
    assert [planted.source.splitlines()[number - 1].strip() for number in planted.changed] == [
        '"""Shapes. # no comment"""',
        'z = "# no comment"',
    ]
