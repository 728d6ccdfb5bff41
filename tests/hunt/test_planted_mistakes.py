"""Bug hunts: nothing in the handed-out file gives the mistake away, no mistake comes twice in a row, and a repair is told for what it was."""

import ast
import io
import tokenize
from collections import Counter
from random import Random

import pytest

from tests.support.hunt import BY_ID, CHALLENGES, SOURCE
from trainer.hunt import planted_mistakes
from trainer.model.challenge import Challenge, Mistake
from trainer.packs import pack_reader
from trainer.packs.mistakes import patch, patch_all, read_mistakes

IDS = [one.id for one in CHALLENGES]


def comments(text: str) -> list[str]:
    """All comments of a Python text."""
    return [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]


def code(text: str) -> str:
    """What a module does, without its docstring."""
    tree = ast.parse(text)
    return ast.dump(ast.Module(tree.body[1:], []))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_nothing_gives_a_mistake_away(challenge: Challenge) -> None:
    """Of every mistake: the patch and nothing else, no comment, none of the words about it, and no gap where a line stood."""
    reference = pack_reader.solution(challenge)
    assert comments(reference), "nothing to be removed here"
    for mistake in read_mistakes(challenge):
        text = planted_mistakes.handed_out(challenge, (mistake,))
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


@pytest.mark.sampled(3)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_the_changed_lines_are_all_that_differ(challenge: Challenge) -> None:
    """Every other line stands in the reference as well, and a changed one is a line of code."""
    reference = Counter(planted_mistakes.bare(pack_reader.solution(challenge)).splitlines())
    for mistake in read_mistakes(challenge):
        found = planted_mistakes.broken(pack_reader.solution(challenge), (mistake,), challenge.id)
        lines = found.source.splitlines()
        assert found.changed, mistake.id
        assert all(lines[number - 1].strip() for number in found.changed), mistake.id
        others = Counter(
            line
            for number, line in enumerate(lines, start=1)
            if line and number not in found.changed
        )
        assert not others - reference, mistake.id
        lost = (mistake.was.strip("\n").count("\n") + 1) + (2 if found.missing else 0)
        assert others.total() >= sum(many for line, many in reference.items() if line) - lost, (
            mistake.id
        )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_what_is_told_stands_in_the_reference(challenge: Challenge) -> None:
    """The line numbers are those of the reference as `solution` shows it."""
    lines = pack_reader.solution(challenge).splitlines()
    for mistake in read_mistakes(challenge):
        told = planted_mistakes.told(pack_reader.solution(challenge), mistake, challenge.id)
        assert told, mistake.id
        for change in told:
            for number, line in enumerate(change.was, start=change.first):
                assert lines[number - 1].startswith(line), mistake.id


def test_two_mistakes_are_both_there() -> None:
    """The lines of the one and of the other, in whichever order they are named."""
    challenge = BY_ID["gqa"]
    known = {one.id: one for one in read_mistakes(challenge)}
    scale, tiled = known["no-scale"], known["heads-tiled"]
    source = pack_reader.solution(challenge)
    both = patch_all(source, (scale, tiled), "")
    assert (
        both == patch_all(source, (tiled, scale), "") == patch(patch(source, scale, ""), tiled, "")
    )
    found = planted_mistakes.broken(source, (scale, tiled), "").changed
    assert set(found) > set(planted_mistakes.broken(source, (tiled,), "").changed)
    assert "two mistakes" in planted_mistakes.handed_out(challenge, (scale, tiled))
    assert "one mistake " in planted_mistakes.handed_out(challenge, (scale,))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_pairs_lie_on_different_lines(challenge: Challenge) -> None:
    """Each of two chosen mistakes changes lines that the other leaves alone, so that each has to be repaired."""
    source, mistakes = pack_reader.solution(challenge), read_mistakes(challenge)
    pairs = [
        chosen
        for seed in range(40)
        if len(chosen := planted_mistakes.choose(mistakes, source, (), Random(seed))) == 2
    ]
    assert pairs
    for one, other in pairs:
        both = code(planted_mistakes.handed_out(challenge, (one, other)))
        assert (
            len(
                {
                    both,
                    code(planted_mistakes.handed_out(challenge, (one,))),
                    code(planted_mistakes.handed_out(challenge, (other,))),
                }
            )
            == 3
        )
        assert source.index(one.was) + len(one.was) <= source.index(other.was)


def test_never_the_same_twice_in_a_row() -> None:
    """Not even with the same seed; about a third of the hunts have two mistakes; with equal chances the choice is equal."""
    challenge = BY_ID["masks"]
    source, mistakes = pack_reader.solution(challenge), read_mistakes(challenge)
    rng = Random(5)
    last: tuple[str, ...] = ()
    sizes: Counter[int] = Counter()
    for _ in range(600):
        chosen = tuple(one.id for one in planted_mistakes.choose(mistakes, source, last, rng))
        assert set(chosen) != set(last)
        sizes[len(chosen)] += 1
        last = chosen
    assert set(sizes) == {1, 2}
    assert 0.25 < sizes[2] / 600 < 0.42
    for seed in range(30):
        first = planted_mistakes.choose(mistakes, source, (), Random(seed))
        assert planted_mistakes.choose(mistakes, source, (), Random(seed)) == first
        again = planted_mistakes.choose(
            mistakes, source, [one.id for one in reversed(first)], Random(seed)
        )
        assert {one.id for one in again} != {one.id for one in first}


def test_two_mistakes_in_turns() -> None:
    """Where there are only two, on one line, they take turns; where there is only one, it comes again."""
    one, other = (
        Mistake(name, "x * 2", now, "", "") for name, now in (("a", "x * 3"), ("b", "x * 4"))
    )
    for seed in range(20):
        assert planted_mistakes.choose((one, other), SOURCE, ("a",), Random(seed)) == (other,)
        assert planted_mistakes.choose((one,), SOURCE, ("a",), Random(seed)) == (one,)


def test_what_is_seen_at_once_is_not_handed_out() -> None:
    """`if False:` in place of a condition needs no hunting."""
    plain = Mistake("b", "x * 2", "x * 3", "", "")
    for now in ("if False:", "while True:", "a = 1\n    if True:"):
        assert planted_mistakes.fair((Mistake("a", "x", now, "", ""), plain)) == [plain]
    assert all(
        "if False" not in one.now
        for challenge in CHALLENGES
        for one in planted_mistakes.fair(read_mistakes(challenge))
    )
    assert any(
        "if False" in one.now for challenge in CHALLENGES for one in read_mistakes(challenge)
    )


def test_texts_are_no_comments() -> None:
    """A `#` in a text stays, and so do the empty lines of a docstring; comments go, with the spaces before them."""
    bare = planted_mistakes.bare(SOURCE)
    assert comments(bare) == []
    assert bare == SOURCE.replace("    # why it is so\n", "").replace("  # [B, L]", "").replace(
        "  # [B]", ""
    )


def test_a_taken_out_line_leaves_no_gap() -> None:
    """Neither an empty line, nor one of spaces, nor two where one was."""
    gone = Mistake("gone", "y = x * 2", "", "", "")
    found = planted_mistakes.broken(SOURCE.replace("return y, z", "return z"), (gone,), "")
    assert '# no comment"""\n    z = ' in found.source.replace("\n\n", "\n")
    assert "    \n" not in found.source
    assert found.missing
    assert [found.source.splitlines()[number - 1].strip() for number in found.changed] == [
        '"""Shapes. # no comment"""',
        'z = "# no comment"',
    ]
