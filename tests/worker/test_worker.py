"""The work of a worker on one request."""

from attn_drill.grading.grader import Grader
from tests.support.grading import grade_prefix_sum


def test_a_table_cached_by_length_is_not_a_loop(grader: Grader) -> None:
    """A counted call uses a new import, so that no table of another case is left."""
    cached = (
        "import functools, torch\n"
        "@functools.cache\n"
        "def ones(n):\n"
        "    at = torch.arange(n)\n"
        "    return {}\n"
    )
    use = (
        "def prefix_sum(x, reverse=False):\n"
        "    x = x * ones(x.shape[-1]).to(x.dtype)\n"
        "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
    )
    assert (
        grade_prefix_sum(
            grader, cached.format("((at - at + 1) * (at + 1)).clamp(max=1).abs()") + use
        ).verdict
        == "passed"
    )
    looped = grade_prefix_sum(grader, cached.format("torch.stack([i * 0 + 1 for i in at])") + use)
    failed = [outcome.check for outcome in looped.outcomes if outcome.status == "failed"]
    assert failed == ["vectorised"]
