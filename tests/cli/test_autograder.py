"""The folder for Gradescope: whole, installable from a checkout and from a wheel, and it always leaves results behind."""

import os
import shutil
import sys
from pathlib import Path

from tests.support import forked
from tests.support.autograder import run
from tests.support.paths import TINY_PACK
from trainer.packs.pack_reader import built_in_pack


def test_a_challenge_of_a_course_goes_along(tmp_path: Path) -> None:
    """Asked for by --pack, it is graded when that folder is gone; what is not asked stays behind, and with another assignment so does all of it."""
    course, root = tmp_path / "course", tmp_path / "there"
    shutil.copytree(TINY_PACK, course)
    environment = {
        **os.environ,
        "PYTHONPATH": str(built_in_pack()),
        "PYTHON": sys.executable,
        "AUTOGRADER_ROOT": str(root),
    }
    made = forked.run(
        ["autograder", str(root / "source"), "--challenge", "prefix-sum", "--pack", str(course)],
        tmp_path,
        environment,
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert {path.name for path in (course / "challenges").iterdir()} > {"prefix_sum"}
    assert sorted(path.relative_to(root).as_posix() for path in root.glob("source/pack/*/*")) == [
        "source/pack/challenges/prefix_sum",
        "source/pack/solutions/prefix_sum",
    ]
    shutil.rmtree(course)
    right = (TINY_PACK / "solutions" / "prefix_sum" / "solution.py").read_text()
    (root / "submission").mkdir()
    for source, whole in ((right, True), (right.replace(".flip(-1)", ""), False)):
        (root / "submission" / "prefix_sum.py").write_text(source)
        results, done = run(root, environment)
        assert results.get("score") is not None, done.stderr
        assert (results["score"] == 100.0) == whole
    made = forked.run(
        ["autograder", str(root / "source"), "--challenge", "gqa"], tmp_path, environment
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert not (root / "source" / "pack").exists()
