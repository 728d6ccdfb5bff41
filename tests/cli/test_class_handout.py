"""Tests of `class handout`: the page and the stubs."""

import os
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.paths import TINY_PACK

COMMAND = ["class", "handout", "week.toml", "--pack", str(TINY_PACK), "--out", "out"]


def test_students_get_the_task_the_stub_and_the_rules(tmp_path: Path) -> None:
    """The table of points has the checks that the challenge has."""
    (tmp_path / "week.toml").write_text(
        'title = "Week 3"\ndue = 2026-12-01T23:59:00Z\n[[challenge]]\nid = "prefix-sum"\n'
    )
    process = forked.run(COMMAND, tmp_path, os.environ)
    assert process.stdout == "written: out/handout.html, out/prefix_sum.py\n"
    page = (tmp_path / "out" / "handout.html").read_text()
    for words in ("Week 3", "2026-12-01 23:59 (UTC+00:00)", "prefix_sum.py", "gradients"):
        assert words in page
    assert "masks" not in page
    assert "def prefix_sum" in (tmp_path / "out" / "prefix_sum.py").read_text()


@pytest.mark.parametrize(
    ("weights", "message"), [("masks = 2", "masks"), ("mask = 2", "Did you mean")]
)
def test_wrong_assignment_is_refused(tmp_path: Path, weights: str, message: str) -> None:
    """Students must not read points that do not hold."""
    (tmp_path / "week.toml").write_text(
        f'[[challenge]]\nid = "prefix-sum"\nweights = {{ {weights} }}\n'
    )
    process = forked.run(COMMAND, tmp_path, os.environ)
    assert process.returncode == 2
    assert message in process.stderr
    assert not (tmp_path / "out" / "handout.html").exists()
