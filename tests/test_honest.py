"""Right answers in uncommon styles, which a grader of this kind refuses easily; `tests/honest/` has a file for each."""

from pathlib import Path

import pytest

from tests.support.grading import report_of
from tests.support.paths import TESTS
from trainer.grading.grader import Grader
from trainer.packs import pack_reader

FILES = sorted((TESTS / "honest").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_right_answers_pass(grader: Grader, path: Path) -> None:
    """The part of the name before `__` is the challenge."""
    challenge = pack_reader.find_challenge(
        pack_reader.built_in_pack(), path.stem.partition("__")[0]
    )
    report = report_of(
        grader, challenge, path.read_text(encoding="utf-8"), challenge.file_name, 101
    )
    assert report.verdict == "passed", report.first_failure()
