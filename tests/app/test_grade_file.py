"""Tests of grading a file, as the commands do."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.known_packs import BUILT_IN, install_pack, make_pack
from tests.support.paths import ROOT
from trainer.app.grade_file import (
    MOST_SEED,
    check_limits,
    check_seed,
    fresh_seed,
    hunted_mistakes,
    last_seed,
    open_grader,
)
from trainer.app.open_packs import open_packs
from trainer.model.attempt import Attempt
from trainer.model.errors import DrillError
from trainer.practice.journal import Journal


def test_right_answer_imports_no_diagnosis() -> None:
    """The modules of the diagnosis are imported only for a wrong answer."""
    code = (
        "import sys\n"
        "from trainer.app.grade_file import grade_file\n"
        "from trainer.app.open_packs import open_packs\n"
        "from trainer.packs import pack_reader\n"
        "from trainer.model.submission import Submission\n"
        "from trainer.worker import forkserver_client\n"
        "known_packs = open_packs()\n"
        "challenge = known_packs.find('gqa')\n"
        "for divisor in ('math.sqrt(self.head_dim)', '2.0'):\n"
        "    source = pack_reader.solution(challenge)\n"
        "    source = source.replace('math.sqrt(self.head_dim)', divisor)\n"
        "    forkserver_client.prepare()\n"
        "    grade_file(known_packs, challenge, Submission('gqa.py', source), 5)\n"
        "    print(sum(name.startswith('trainer.diagnosis') for name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    right, wrong = map(int, done.stdout.split())
    assert right == 0
    assert wrong > 5


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on sys.path, which can have installed packs."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_grader_hides_all_packs(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission cannot read the pack of its challenge, nor any other known pack."""
    make_pack(site / "hiding_pack", "extra")
    install_pack(site, "hiding", "[attn_drill.packs]\nhiding = hiding_pack\n")
    named, other = make_pack(tmp_path / "named", "a"), make_pack(tmp_path / "other", "b")
    monkeypatch.setenv("ATTN_DRILL_PACK", str(other))
    hidden: list[Path] = []
    monkeypatch.setattr(
        "trainer.grading.grader.Grader", lambda packs, limits, **more: hidden.extend(packs)
    )
    open_grader(open_packs([named]))
    assert hidden == [named, other, BUILT_IN, site / "hiding_pack"]


@pytest.mark.parametrize(
    ("seconds", "memory_mib", "says"),
    [
        (0, 2048, "--time-limit is 0"),
        (86_401, 2048, "--time-limit is 86401"),
        (10, 15, "--memory-limit is 15"),
        (10, (1 << 20) + 1, "--memory-limit is 1048577"),
    ],
)
def test_limit_without_sense_is_refused(seconds: float, memory_mib: int, says: str) -> None:
    """The message has the value and the least and greatest limit."""
    with pytest.raises(DrillError, match=says):
        check_limits(seconds, memory_mib)
    check_limits(0.5, 16)


def test_seed_outside_the_range_is_refused() -> None:
    """Fresh seeds are inside the range."""
    for seed in (-1, MOST_SEED + 1):
        with pytest.raises(DrillError, match=f"--seed is {seed}"):
            check_seed(seed)
    for seed in (0, MOST_SEED, fresh_seed()):
        check_seed(seed)


def test_last_seed_is_that_of_the_last_attempt(journal: Journal) -> None:
    """Without an attempt the seed is a fresh one."""
    gqa = open_packs().find("gqa")
    assert last_seed(journal, gqa) != last_seed(journal, gqa)
    for when, seed in ((1.0, 5), (2.0, 7)):
        journal.record_attempt(Attempt("gqa", when, seed, "failed", 1, 2, "text"))
    assert last_seed(journal, gqa) == 7


def test_mistakes_belong_to_the_file_of_the_last_hunt(tmp_path: Path, journal: Journal) -> None:
    """Another file of the same challenge has no planted mistakes."""
    gqa = open_packs().find("gqa")
    path = tmp_path / "gqa_hunt.py"
    assert hunted_mistakes(journal, gqa, path) == ()
    journal.record_hunt("gqa", 1.0, ("no-scale",), path)
    assert hunted_mistakes(journal, gqa, path) == ("no-scale",)
    assert hunted_mistakes(journal, gqa, tmp_path / "gqa.py") == ()
