"""Test of the command `class autograder` with a challenge of a course's own pack."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from attn_drill.packs.pack_reader import built_in_pack
from tests.support import forked
from tests.support.cli import run
from tests.support.paths import TINY_PACK


@pytest.mark.sampled(2)
@pytest.mark.thorough
@pytest.mark.parametrize(
    "is_right",
    [
        pytest.param(None, id="not run"),
        pytest.param(True, id="right", marks=pytest.mark.thorough),
        pytest.param(False, id="wrong", marks=pytest.mark.thorough),
    ],
)
def test_autograder_includes_the_challenge_of_a_course(
    tmp_path: Path, is_right: bool | None
) -> None:
    """A challenge from --pack is copied, so that the autograder works without the pack's folder.

    Challenges that the assignment does not need are left out. A run takes seconds.
    """
    course, root = tmp_path / "course", tmp_path / "autograder"
    shutil.copytree(TINY_PACK, course)
    environment = {
        **os.environ,
        "PYTHONPATH": str(built_in_pack()),
        "PYTHON": sys.executable,
        "AUTOGRADER_ROOT": str(root),
    }
    command = ["class", "autograder", str(root / "source"), "--challenge"]
    process = forked.run([*command, "prefix-sum", "--pack", str(course)], tmp_path, environment)
    assert (process.returncode, process.stderr) == (0, "")
    assert {path.name for path in (course / "challenges").iterdir()} > {"prefix_sum"}
    assert sorted(path.relative_to(root).as_posix() for path in root.glob("source/pack/*/*")) == [
        "source/pack/challenges/prefix_sum",
        "source/pack/solutions/prefix_sum",
    ]
    shutil.rmtree(course)
    right = (TINY_PACK / "solutions" / "prefix_sum" / "solution.py").read_text()
    (root / "submission").mkdir()
    if is_right is not None:
        source = right if is_right else right.replace(".flip(-1)", "")
        (root / "submission" / "prefix_sum.py").write_text(source)
        results, graded = run(root, environment)
        assert results.get("score") is not None, graded.stderr
        assert (results["score"] == 100.0) == is_right
    process = forked.run([*command, "gqa"], tmp_path, environment)
    assert (process.returncode, process.stderr) == (0, "")
    assert not (root / "source" / "pack").exists()
