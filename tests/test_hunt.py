"""Bug hunts: nothing in the handed-out file gives the mistake away, no mistake comes twice in a row, and a repair is told for what it was."""

import ast
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.test_cli import drill
from trainer.hunt import planted_mistakes
from trainer.model.challenge import Challenge, Mistake
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.mistakes import patch, patch_all, read_mistakes
from trainer.practice.journal import Journal

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
BY_ID = {one.id: one for one in CHALLENGES}
IDS = [one.id for one in CHALLENGES]
SOURCE = '''"""What it is.

    a formula
"""

import math


def twice(x):
    """Shapes. # no comment"""
    # why it is so
    y = x * 2  # [B, L]

    z = "# no comment"  # [B]
    return y, z
'''


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


@pytest.mark.parametrize(
    ("mistakes", "says"),
    [
        pytest.param(
            (Mistake("a", "x * 2", "x", "", ""), Mistake("b", "y = x * 2", "y = 1", "", "")),
            "`was` is found 0 times",
            id="overlapping",
        ),
        pytest.param((Mistake("a", "q", "x", "", ""),), "found 0 times", id="not there"),
        pytest.param((Mistake("a", "comment", "x", "", ""),), "found 2 times", id="twice"),
        pytest.param((Mistake("a", "x * 2", "x *", "", ""),), "does not compile", id="no Python"),
    ],
)
def test_what_cannot_be_patched_is_said(mistakes: tuple[Mistake, ...], says: str) -> None:
    """A pack whose mistakes do not fit its reference is told so."""
    with pytest.raises(PackError, match=says):
        patch_all(SOURCE, mistakes, "mistakes.toml")


@pytest.mark.parametrize("name", ["masks", "gqa", "rope"])
def test_from_the_hunt_to_the_repair(name: str, tmp_path: Path, home: Path) -> None:
    """The file does not pass and nothing tells why; repaired it passes, and the mistake, its hint and the line are told."""
    challenge = BY_ID[name]
    told = drill("hunt", name, "--seed", "2", cwd=tmp_path).stdout
    file = tmp_path / planted_mistakes.file_name(challenge)
    ids, where = Journal(home).last_hunt(name) or ((), Path())
    assert where == file.resolve()
    mistakes = planted_mistakes.by_ids(challenge, ids) or ()
    assert mistakes
    assert file.read_text() == planted_mistakes.handed_out(challenge, mistakes)
    failing = drill("hunt", name, "--check", "--seed", "5", cwd=tmp_path, code=1).stdout
    assert "seed 5" in failing
    assert "--reveal" in failing
    flat = " ".join((told + failing).split())
    assert "LIKELY" not in flat
    assert not any(one.says in flat or one.hint in flat for one in mistakes)
    file.write_text(pack_reader.solution(challenge))
    passing = " ".join(drill("hunt", name, "--check", cwd=tmp_path).stdout.split())
    assert passing.startswith(f"PASSED {name}")
    for one in mistakes:
        assert f"It was {one.id}: {' '.join(one.says.split())}" in passing
        assert " ".join(one.hint.split()) in passing
        for change in planted_mistakes.told(pack_reader.solution(challenge), one, name):
            assert f"reference, line {change.first}" in passing
    attempts = Journal(home).attempts()
    assert [(one.purpose, one.verdict == "passed") for one in attempts] == [
        ("hunt", False),
        ("hunt", True),
    ]
    assert attempts[0].checks


def test_two_are_told_one_after_the_other(tmp_path: Path, home: Path) -> None:
    """Given up, both are told; the file is not needed."""
    Journal(home).record_hunt("gqa", 1.0, ["no-scale", "heads-tiled"], tmp_path / "gqa_hunt.py")
    shown = drill("hunt", "gqa", "--reveal", cwd=tmp_path, COLUMNS="50").stdout
    assert shown.index("It was no-scale") < shown.index("It was heads-tiled")
    assert "handed out: nothing" in shown
    assert max(map(len, shown.splitlines())) <= 50


def test_a_mistake_that_is_gone_is_said(tmp_path: Path, home: Path) -> None:
    """A pack may have changed since."""
    Journal(home).record_hunt("gqa", 1.0, ["of-another-time"], tmp_path / "gqa_hunt.py")
    assert (
        "of-another-time, which gqa no longer has"
        in drill("hunt", "gqa", "--reveal", cwd=tmp_path).stdout
    )


def test_never_over_work(tmp_path: Path) -> None:
    """A file that was changed is kept aside; one that is as it was handed out is replaced."""
    drill("hunt", "gqa", cwd=tmp_path)
    drill("hunt", "gqa", cwd=tmp_path)
    assert [path.name for path in tmp_path.glob("gqa_hunt*")] == ["gqa_hunt.py"]
    (tmp_path / "gqa_hunt.py").write_text("my work\n")
    assert "kept as gqa_hunt.old-1.py" in drill("hunt", "gqa", cwd=tmp_path).stdout
    assert (tmp_path / "gqa_hunt.old-1.py").read_text() == "my work\n"
    compile((tmp_path / "gqa_hunt.py").read_text(), "gqa_hunt.py", "exec")


def test_another_folder(tmp_path: Path, home: Path) -> None:
    """--dir makes the folder; --check finds the file from anywhere, and where it was moved to."""
    drill("hunt", "masks", "--dir", "deep/er", cwd=tmp_path)
    file = tmp_path / "deep" / "er" / "masks_hunt.py"
    file.write_text(pack_reader.solution(BY_ID["masks"]))
    drill("hunt", "masks", "--check", cwd=tmp_path)
    file.rename(tmp_path / "masks_hunt.py")
    drill("hunt", "masks", "--check", cwd=tmp_path)
    drill("hunt", "masks", "--check", "--dir", str(tmp_path), cwd=home)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["gqaa"], "Did you mean gqa", id="unknown"),
        pytest.param(["gqa", "--check"], "No hunt in gqa is under way", id="none under way"),
        pytest.param(["gqa", "--reveal"], "No hunt in gqa is under way", id="nothing to reveal"),
        pytest.param(["gqa", "--check", "--reveal"], "use one of them", id="both"),
        pytest.param(["gqa", "--seed", "-1"], "--seed is -1", id="seed"),
    ],
)
def test_bad_input(arguments: list[str], says: str, tmp_path: Path) -> None:
    """One sentence, exit code 2, no file."""
    refused = drill("hunt", *arguments, cwd=tmp_path, code=2)
    assert says in refused.stderr
    assert refused.stdout == ""
    assert not list(tmp_path.glob("*.py"))


def test_a_file_that_is_gone_or_in_the_way(tmp_path: Path) -> None:
    """What to do next is said; a folder of that name is left alone."""
    drill("hunt", "gqa", cwd=tmp_path)
    (tmp_path / "gqa_hunt.py").unlink()
    assert (
        "is gone. `attn-drill hunt gqa` begins another"
        in drill("hunt", "gqa", "--check", cwd=tmp_path, code=2).stderr
    )
    (tmp_path / "gqa_hunt.py").mkdir()
    assert "is a folder" in drill("hunt", "gqa", cwd=tmp_path, code=2).stderr
    assert (tmp_path / "gqa_hunt.py").is_dir()


@pytest.mark.parametrize(
    "arguments", [["hunt", "gqa"], ["quiz", "--count", "8"], ["quiz", "--list"]], ids=" ".join
)
def test_no_torch_is_imported(arguments: list[str], tmp_path: Path) -> None:
    """Handing out and asking need no torch, no numpy and no rich."""
    script = (
        "import json, sys; from trainer.cli import commands; sys.argv = ['attn-drill', *sys.argv[1:]]; code = commands._run();"
        "print(json.dumps(sorted(set(sys.modules) & {'torch', 'numpy', 'rich'})), file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, input="a\n?\n?\n", capture_output=True, text=True, check=True
    )
    assert json.loads(done.stderr) == []
    assert done.stdout


def test_a_plain_check_of_the_hunts_file(tmp_path: Path, home: Path) -> None:
    """`check` of it holds the mistake back unless asked, tells it after a pass, and counts as a hunt and not as a pass of the challenge."""
    drill("hunt", "gqa", "--seed", "3", cwd=tmp_path)
    failed = drill("check", "gqa", "gqa_hunt.py", cwd=tmp_path, code=1).stdout
    assert "LIKELY" not in failed
    assert "LIKELY" in drill("check", "gqa", "gqa_hunt.py", "--why", cwd=tmp_path, code=1).stdout
    (tmp_path / "gqa_hunt.py").write_text(
        pack_reader.solution(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"))
    )
    passed = drill("check", "gqa", "gqa_hunt.py", cwd=tmp_path).stdout
    assert "It was " in passed
    assert "It was " not in failed
    assert " new " in next(
        line for line in drill("list", cwd=tmp_path).stdout.splitlines() if line.startswith("gqa ")
    )
    assert {one.purpose for one in Journal(home).attempts()} == {"hunt"}
    assert Journal(home).reviews() == []
