"""A worker imports from folders that it cannot list."""

import os
from pathlib import Path

from tests.support.copies import metadata
from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from tests.support.sandbox import needs_kernel
from trainer.grading.grader import Grader
from trainer.packs import pack_reader


@needs_kernel
def test_a_package_next_to_a_copy_can_still_be_imported(site: Path, grader: Grader) -> None:
    """A worker cannot list a folder with a hidden entry, but can import from this folder.

    This stays true if the folder changes later, for example because a package is installed.
    """
    metadata(site)
    (site / "neighbour_tools-2.1.dist-info").mkdir()
    (site / "neighbour_tools-2.1.dist-info" / "METADATA").write_text("Version: 2.1\n")
    (site / "single.py").write_text("VALUE = 1\n")
    challenge = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
    solution = pack_reader.solution(challenge)
    source = (
        "import neighbour.module\n"
        "import single\n"
        "import importlib.metadata as m\n"
        "assert m.version('torch')\n"
        "assert m.version('neighbour.tools') == '2.1'\n"
        f"{solution}"
    )
    with Grader([TINY_PACK], grader.workers.limits, isolation="kernel") as made:
        assert report_of(made, challenge, solution, "prefix_sum.py", 5).verdict == "passed"
        os.utime(site, (1, 1))
        report = report_of(made, challenge, source, "prefix_sum.py", 5)
    assert report.verdict == "passed", report.first_failure()
