"""The worker's life as the grader sees it: replies, deaths, hangs, floods, garbage."""

from tests.support.running import grade_prefix_sum
from trainer.grading.grader import Grader


def test_a_table_kept_by_length_is_no_loop(grader: Grader) -> None:
    """Both sizes are counted with nothing kept from other cases, which may have been as long."""
    kept = "import functools, torch\n@functools.cache\ndef ones(n):\n    at = torch.arange(n)\n    return {}\n"
    use = "def prefix_sum(x, reverse=False):\n    x = x * ones(x.shape[-1]).to(x.dtype)\n    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
    assert (
        grade_prefix_sum(
            grader, kept.format("((at - at + 1) * (at + 1)).clamp(max=1).abs()") + use
        ).verdict
        == "passed"
    )
    looped = grade_prefix_sum(grader, kept.format("torch.stack([one * 0 + 1 for one in at])") + use)
    assert [one.check for one in looped.outcomes if one.status == "failed"] == ["vectorised"]
