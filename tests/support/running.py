"""Helpers for tests that grade a prefix sum."""

from attn_drill.grading.grader import Grader
from attn_drill.model.report import Report
from attn_drill.packs import pack_reader
from tests.support.grading import report_of
from tests.support.paths import TINY_PACK

RIGHT_SUM = (
    "import torch\n"
    "def prefix_sum(x, reverse=False):\n"
    "    {}\n"
    "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
)


def grade_prefix_sum(grader: Grader, source: str, **more: int) -> Report:
    """Grade a prefix sum under seed 7."""
    return report_of(
        grader,
        pack_reader.find_challenge(TINY_PACK, "prefix-sum"),
        source,
        "prefix_sum.py",
        7,
        **more,
    )
