"""The menu, and review: what is due comes first, typing filters, Enter starts."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.test_cli import drill
from tests.test_session import read_until, terminal
from trainer.model.attempt import Attempt
from trainer.packs import pack_reader
from trainer.practice.agenda import AgendaEntry, agenda, in_days
from trainer.practice.journal import ChallengeProgress, Journal, Review
from trainer.session.menu_screen import MenuApp

ROOT = pack_reader.built_in_pack()
CHALLENGES = pack_reader.read_pack(ROOT)
DAY = 86_400.0
NOW = 1_700_000_000.0


def reviewed(challenge: str, days_ago: float, rating: int = 3) -> Review:
    """A review some days ago."""
    return Review(f"id {challenge}", f"challenge:{challenge}", NOW - days_ago * DAY, rating, "")


ENTRIES = agenda(
    CHALLENGES,
    {
        "gqa": ChallengeProgress("passed", 1),
        "mha": ChallengeProgress("passed", 1),
        "rope": ChallengeProgress("started"),
        "sdpa": ChallengeProgress("passed", 2),
    },
    [reviewed("mha", 40), reviewed("gqa", 90), reviewed("sdpa", 0.1)],
    NOW,
)


def drive(
    script: Callable[[Pilot[AgendaEntry]], Awaitable[None]], size: tuple[int, int] = (80, 24)
) -> AgendaEntry | None:
    """Run the menu without a terminal; what was chosen."""
    app = MenuApp(ENTRIES, lambda: NOW)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())
    return app.return_value


def screen(pilot: Pilot[AgendaEntry]) -> str:
    """What is drawn, as text."""
    return "\n".join(
        "".join(segment.text for segment in line)
        for line in pilot.app.screen._compositor.render_strips()
    )


def test_the_agenda() -> None:
    """Due ones first and the longest due on top, then what is under way, new, passed; a challenge stands once."""
    sections = [(one.section, one.challenge.id) for one in ENTRIES]
    assert sections[:3] == [("due", "gqa"), ("due", "mha"), ("under way", "rope")]
    assert sections[-1] == ("passed", "sdpa")
    assert sorted(name for _, name in sections) == sorted(one.id for one in CHALLENGES)
    assert [in_days(days * DAY) for days in (-3, 0.2, 1, 5)] == [
        "today",
        "today",
        "tomorrow",
        "in 5 days",
    ]


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (200, 50)], ids=["80x24", "60x20", "200x50"])
def test_it_shows_sections(size: tuple[int, int]) -> None:
    """Every section with its count, in lines that fit."""

    async def script(pilot: Pilot[AgendaEntry]) -> None:
        drawn = screen(pilot)
        assert (
            drawn.index("Due today (2)")
            < drawn.index("gqa")
            < drawn.index("mha")
            < drawn.index("Under way (1)")
            < drawn.index("New (14)")
        )
        assert len(drawn.splitlines()) == size[1]

    drive(script, size)


def test_typing_filters_and_enter_starts() -> None:
    """By id, title, topic and level, several words at once; Enter takes the first, the arrows another; what matches nothing starts nothing."""

    async def first(pilot: Pilot[AgendaEntry]) -> None:
        await pilot.press(*"latent hard")
        assert "mla" in screen(pilot)
        assert "gqa" not in screen(pilot)
        await pilot.press("enter")

    chosen = drive(first)
    assert chosen is not None
    assert chosen.challenge.id == "mla"

    async def second(pilot: Pilot[AgendaEntry]) -> None:
        await pilot.press("down", "enter")

    chosen = drive(second)
    assert chosen is not None
    assert (chosen.challenge.id, chosen.section) == ("mha", "due")

    async def nothing(pilot: Pilot[AgendaEntry]) -> None:
        await pilot.press(*"zzz", "enter")
        assert "Nothing matches 'zzz'" in screen(pilot)
        await pilot.press("escape")

    assert drive(nothing) is None


def test_in_a_terminal(tmp_path: Path) -> None:
    """`attn-drill` alone: the menu; what is typed and entered is started, and its stub is there."""
    with terminal(["-m", "trainer"], tmp_path) as (_, end):
        read_until(end, lambda seen: "New (" in seen)
        os.write(end, b"usual")
        read_until(end, lambda seen: "New (1)" in seen)
        os.write(end, b"\r")
        read_until(end, lambda seen: "Every save of masks.py" in seen)
        os.write(end, b"q")
        read_until(end, lambda seen: "as you left it" in seen)
    assert (tmp_path / "masks.py").exists()


def passed(home: Path, challenge: str, when: float) -> None:
    """A pass, and its review, in the journal."""
    journal = Journal(home)
    journal.record_attempt(Attempt(challenge, when, 1, "passed", 14, 14, "text"))
    journal.record_review(f"challenge:{challenge}", when, 3, "10 of 20 min, no hint")
    journal.close()


def test_review_hands_out_what_is_due_as_a_blank_stub(tmp_path: Path, home: Path) -> None:
    """The longest due, signatures alone, the old file kept aside; asked again, what is under way is left as it is."""
    assert "nothing is due" in drill("review", cwd=tmp_path).stdout
    passed(home, "gqa", 1_000_000_000.0)
    passed(home, "mha", 1_100_000_000.0)
    (tmp_path / "gqa.py").write_text("old work\n")
    assert re.search(r"gqa +due\nmha +due", drill("review", "--list", cwd=tmp_path).stdout)
    drill("review", cwd=tmp_path)
    gqa = pack_reader.find_challenge(ROOT, "gqa")
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(gqa, "blank")
    assert '"""' not in (tmp_path / "gqa.py").read_text()
    assert (tmp_path / "gqa.old-1.py").read_text() == "old work\n"
    (tmp_path / "gqa.py").write_text("new work\n")
    drill("review", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == "new work\n"
    assert not (tmp_path / "gqa.old-2.py").exists()


def test_a_pass_is_graded_and_can_be_overruled(tmp_path: Path, home: Path) -> None:
    """`check` grades the first pass from the evidence; `review --grade` overrules it; a second pass is no second review."""
    gqa = pack_reader.find_challenge(ROOT, "gqa")
    drill("start", "gqa", cwd=tmp_path)
    drill("hint", "gqa", cwd=tmp_path)
    (tmp_path / "gqa.py").write_text(pack_reader.solution(gqa))
    drill("check", "gqa", cwd=tmp_path)
    drill("check", "gqa", cwd=tmp_path)
    (review,) = Journal(home).reviews()
    assert (review.rating, "1 hint" in review.reason) == (3, True)
    attempt = Journal(home).attempts()[0]
    assert attempt.hints == 1
    assert attempt.seconds is not None
    assert 0 <= attempt.seconds < 600
    assert (
        "graded hard, as you say (was good"
        in drill("review", "gqa", "--grade", "hard", cwd=tmp_path).stdout
    )
    assert [one.rating for one in Journal(home).reviews()] == [2]
    assert (
        "no review of mha" in drill("review", "mha", "--grade", "hard", cwd=tmp_path, code=2).stderr
    )


def test_check_of_an_unfinished_file_is_no_failed_attempt(tmp_path: Path, home: Path) -> None:
    """It is graded and said so; a finished wrong answer counts at once, however soon the next one comes."""
    gqa = pack_reader.find_challenge(ROOT, "gqa")
    solution = pack_reader.solution(gqa)
    drill("start", "gqa", cwd=tmp_path)
    for text in (
        pack_reader.stub(gqa),
        solution + "(",
        "import torch\n",
        solution.replace("def forward", "def run"),
    ):
        (tmp_path / "gqa.py").write_text(text)
        shown = drill("check", "gqa", cwd=tmp_path, code=1).stdout
        assert "Not counted as an attempt: the file " in shown
    assert Journal(home).attempts(replaced=True) == []
    for factor in (2, 3):
        (tmp_path / "gqa.py").write_text(solution.replace("(merged)", f"(merged) * {factor}"))
        assert "Not counted" not in drill("check", "gqa", cwd=tmp_path, code=1).stdout
    (tmp_path / "gqa.py").write_text(solution)
    drill("check", "gqa", cwd=tmp_path)
    assert [row.verdict for row in Journal(home).attempts()] == ["failed", "failed", "passed"]
    assert Journal(home).since_start("gqa").failed == 2


def test_tab_does_not_take_the_line_away(tmp_path: Path) -> None:
    """After Tab, typing still filters and Enter still starts."""

    async def script(pilot: Pilot[AgendaEntry]) -> None:
        await pilot.press("tab", *"latent hard", "shift+tab", "enter")

    chosen = drive(script)
    assert chosen is not None
    assert chosen.challenge.id == "mla"


def test_giving_up_is_a_lapse(tmp_path: Path, home: Path) -> None:
    """The solution seen before a pass is the grade `again`, once; in a review too, though it was passed long ago; after a pass it is none."""
    for _ in range(2):
        drill("solution", "gqa", "--give-up", cwd=tmp_path)
    assert [(one.rating, one.reason) for one in Journal(home).reviews()] == [(1, "given up")]
    passed(home, "mha", 1_100_000_000.0)
    drill("solution", "mha", cwd=tmp_path)
    assert len(Journal(home).reviews()) == 2
    drill("review", "mha", cwd=tmp_path)
    drill("solution", "mha", cwd=tmp_path)
    assert [one.reason for one in Journal(home).reviews("challenge:mha")][1:] == ["given up"]


@pytest.mark.parametrize("level", ["guided", "standard", "blank"])
def test_start_at_a_level(tmp_path: Path, home: Path, level: str) -> None:
    """`start --level` hands that stub out, and `reset --level` another; the journal knows."""
    drill("start", "gqa", "--level", level, cwd=tmp_path)
    gqa = pack_reader.find_challenge(ROOT, "gqa")
    text = (tmp_path / "gqa.py").read_text()
    assert text == pack_reader.stub(gqa, level)  # type: ignore[arg-type]
    assert ("-> [B, H, L, D]" in text) == (level == "guided")
    assert Journal(home).level_of("gqa") == level
    drill("reset", "gqa", "--level", "guided", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(gqa, "guided")
    assert "guided" in drill("start", "gqa", "--level", "steep", cwd=tmp_path, code=2).stderr
