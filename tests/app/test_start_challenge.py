"""Hand out stubs, and choose the next challenge."""

import time
from dataclasses import replace
from pathlib import Path

from attn_drill.app.answer import hand_out, hand_out_afresh, handed_out_level, is_review_under_way
from attn_drill.app.open_packs import KnownPacks
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Attempted, Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import ChallengeProgress
from attn_drill.practice.schedule import agenda, next_challenge, recommended


def pass_challenge(journal: Journal, challenge_id: str) -> None:
    """Record an attempt that passes."""
    attempt = Attempted(
        challenge_id,
        time.time(),
        seed=1,
        verdict="passed",
        source="pass\n",
        checks={"load": "passed"},
    )
    journal.add(attempt)


def test_hand_out_keeps_a_file_and_hand_out_afresh_replaces_it(
    tmp_path: Path, journal: Journal
) -> None:
    """The level in the journal stays or changes with the file."""
    gqa = KnownPacks().find("gqa")
    path = tmp_path / gqa.file_name
    assert not hand_out(gqa, path, journal, "standard")
    path.write_text("mine\n")
    assert hand_out(gqa, path, journal, "blank")
    assert path.read_text() == "mine\n"
    assert handed_out_level(gqa, journal) == "standard"
    old_file = hand_out_afresh(gqa, path, journal, "blank")
    assert old_file is not None
    assert old_file.read_text() == "mine\n"
    assert handed_out_level(gqa, journal) == "blank"


def test_level_of_a_file_that_was_there_is_not_the_level_asked_for(
    tmp_path: Path, journal: Journal
) -> None:
    """A file that attn-drill did not write counts as standard; a moved file keeps its level."""
    gqa = KnownPacks().find("gqa")
    path = tmp_path / gqa.file_name
    path.write_text("mine\n")
    assert handed_out_level(gqa, journal) is None
    hand_out(gqa, path, journal, "arrange")
    assert handed_out_level(gqa, journal) == "standard"
    hand_out_afresh(gqa, path, journal, "guided")
    path.write_text("mine\n")
    moved = tmp_path / "moved.py"
    path.rename(moved)
    hand_out(gqa, moved, journal, "arrange")
    assert handed_out_level(gqa, journal) == "guided"


def test_review_is_under_way_until_it_passes(tmp_path: Path, journal: Journal) -> None:
    """A review begins with a blank stub that was handed out at this path."""
    gqa = KnownPacks().find("gqa")
    path = tmp_path / gqa.file_name
    hand_out(gqa, path, journal, "standard")
    assert not is_review_under_way(gqa, path, journal)
    hand_out_afresh(gqa, path, journal, "blank")
    assert is_review_under_way(gqa, path, journal)
    assert not is_review_under_way(gqa, tmp_path / "other.py", journal)
    pass_challenge(journal, "gqa")
    assert not is_review_under_way(gqa, path, journal)


def test_next_challenge_builds_on_the_last(journal: Journal) -> None:
    """First a challenge that builds on the last, then a ready challenge, then any, then none."""
    challenges = KnownPacks().catalogue().challenges
    by_id = {challenge.id: challenge for challenge in challenges}
    mha, gqa, sdpa = by_id["mha"], by_id["gqa"], by_id["sdpa"]
    pass_challenge(journal, "mha")
    assert next_challenge(mha, [sdpa, gqa], journal) == gqa
    assert next_challenge(sdpa, [sdpa, gqa], journal) == sdpa
    pass_challenge(journal, "gqa")
    assert next_challenge(gqa, [mha, gqa, by_id["gqa-rope"]], journal) == by_id["gqa-rope"]
    assert next_challenge(gqa, [mha, gqa], journal) is None
    rarely = replace(sdpa, asked="rarely")
    often = replace(sdpa, id="later", asked="often")
    assert next_challenge(gqa, [rarely, often], journal) == often


def test_untouched_stub_is_replaced_by_a_stub_of_another_level(
    tmp_path: Path, journal: Journal
) -> None:
    """The learner loses nothing. Without a level, the stub that is there stays."""
    gqa = KnownPacks().find("gqa")
    path = tmp_path / gqa.file_name
    hand_out(gqa, path, journal, "blank")
    assert hand_out(gqa, path, journal, None)
    assert path.read_text() == pack_reader.stub(gqa, "blank")
    assert not hand_out(gqa, path, journal, "guided")
    assert path.read_text() == pack_reader.stub(gqa, "guided")
    assert handed_out_level(gqa, journal) == "guided"
    assert [found.name for found in tmp_path.glob("*.py")] == [path.name]


def test_recommended_challenge_is_due_or_begun_or_the_base_of_most(journal: Journal) -> None:
    """Of the new challenges, only those whose bases are passed are recommended."""
    challenges, now = KnownPacks().catalogue().challenges, 1_700_000_000.0

    def after(progress: dict[str, ChallengeProgress], *reviews: Reviewed) -> str | None:
        entry = recommended(agenda(challenges, progress, reviews, now))
        return None if entry is None else entry.challenge.id

    passed = {challenge.id: ChallengeProgress("passed", 1) for challenge in challenges}
    due = Reviewed("challenge:mha", now - 90 * 86_400, rating=3)
    assert after({}) == "sdpa"
    assert after({"sdpa": ChallengeProgress("passed", 1)}) == "mha"
    assert after({"rope": ChallengeProgress("started")}) == "rope"
    assert after({**passed, "rope": ChallengeProgress("started")}, due) == "mha"
    assert after(passed) is None
