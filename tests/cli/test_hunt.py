"""Tests of `attn-drill hunt`."""

from pathlib import Path

import pytest

from attn_drill.exercises import altered_reference
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Hunted
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts
from tests.support.cli import drill
from tests.support.exercises import BY_ID
from tests.support.rows import each_row


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["masks", "gqa", "rope"])
def test_repaired_file_passes_and_shows_the_mistake(name: str, tmp_path: Path, home: Path) -> None:
    """Before the repair, the file does not pass, and the output does not show the mistake."""
    challenge = BY_ID[name]
    handed_out = drill("hunt", name, "--seed", "2", cwd=tmp_path).stdout
    file = tmp_path / altered_reference.file_name(challenge)
    hunt = Journal(home).last(Hunted, subject=name)
    ids, where = (hunt.mistakes, Path(hunt.path)) if hunt else ((), Path())
    assert where == file.resolve()
    mistakes = altered_reference.mistakes_by_ids(challenge, ids) or ()
    assert mistakes
    assert file.read_text() == altered_reference.hunt_file_text(challenge, mistakes)
    failing = drill("check", name, file.name, "--seed", "5", cwd=tmp_path, code=1).stdout
    assert "seed 5" in failing
    assert "--reveal" in failing
    flat = " ".join((handed_out + failing).split())
    assert "LIKELY" not in flat
    assert not any(mistake.says in flat or mistake.hint in flat for mistake in mistakes)
    file.write_text(pack_reader.solution(challenge))
    passing = " ".join(drill("check", name, file.name, cwd=tmp_path).stdout.split())
    assert passing.startswith(f"PASSED {name}")
    for mistake in mistakes:
        assert f": {' '.join(mistake.says.split())}" in passing
        assert mistake.id not in passing
        assert " ".join(mistake.hint.split()) in passing
        for change in altered_reference.reference_changes(
            pack_reader.solution(challenge), mistake, name
        ):
            assert f"reference, line {change.first}" in passing
    attempts = counted_attempts(Journal(home).facts())
    assert [(attempt.purpose, attempt.verdict == "passed") for attempt in attempts] == [
        ("hunt", False),
        ("hunt", True),
    ]
    assert attempts[0].checks


def test_reveal_shows_both_mistakes(tmp_path: Path, home: Path) -> None:
    """The file is not needed."""
    Journal(home).add(
        Hunted("gqa", 1.0, mistakes=("no-scale", "heads-tiled"), path=str(tmp_path / "gqa_hunt.py"))
    )
    shown = drill("hunt", "gqa", "--reveal", cwd=tmp_path, COLUMNS="50").stdout
    assert shown.index("Bug 1: The scores are not") < shown.index("Bug 2: The ")
    assert "handed out: nothing" in shown
    assert max(map(len, shown.splitlines())) <= 50


def test_reveal_says_that_the_pack_no_longer_has_the_mistake(tmp_path: Path, home: Path) -> None:
    """The pack may have changed since the hunt began."""
    Journal(home).add(
        Hunted("gqa", 1.0, mistakes=("of-another-time",), path=str(tmp_path / "gqa_hunt.py"))
    )
    shown = drill("hunt", "gqa", "--reveal", cwd=tmp_path).stdout
    assert "it no longer has this hunt's bugs" in shown


@each_row(
    "arguments, says",
    {
        "unknown": (["gqaa"], "Did you mean gqa"),
        "nothing to reveal": (["gqa", "--reveal"], "No hunt in gqa is under way"),
        "seed": (["gqa", "--seed", "-1"], "-1 is not in the range x>=0"),
    },
)
def test_bad_input(arguments: list[str], says: str, tmp_path: Path) -> None:
    """Exit with 2, print one sentence, and write no file."""
    refused = drill("hunt", *arguments, cwd=tmp_path, code=2)
    assert says in refused.stderr
    assert refused.stdout == ""
    assert not list(tmp_path.glob("*.py"))


def test_folder_with_the_name_of_the_file_is_kept(tmp_path: Path) -> None:
    """One sentence says so."""
    (tmp_path / "gqa_hunt.py").mkdir()
    assert "is a folder" in drill("hunt", "gqa", cwd=tmp_path, code=2).stderr
    assert (tmp_path / "gqa_hunt.py").is_dir()
