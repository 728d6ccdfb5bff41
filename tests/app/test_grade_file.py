"""Tests of grading a file, as the commands do."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.known_packs import BUILT_IN, install_pack, make_pack
from tests.support.paths import ROOT
from trainer.app.grade_file import open_grader
from trainer.app.open_packs import open_packs


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
        "    source = pack_reader.solution(challenge).replace('math.sqrt(self.head_dim)', divisor)\n"
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
    """A folder on sys.path, as if it were one for packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_the_grader_hides_all_packs(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is graded sees the content of no known pack, whichever its challenge is of."""
    make_pack(site / "hiding_pack", "extra")
    install_pack(site, "hiding", "[attn_drill.packs]\nhiding = hiding_pack\n")
    mine, other = make_pack(tmp_path / "mine", "a"), make_pack(tmp_path / "other", "b")
    monkeypatch.setenv("ATTN_DRILL_PACK", str(other))
    hidden: list[Path] = []
    monkeypatch.setattr(
        "trainer.grading.grader.Grader", lambda packs, limits, **more: hidden.extend(packs)
    )
    open_grader(open_packs([mine]))
    assert hidden == [mine, other, BUILT_IN, site / "hiding_pack"]
