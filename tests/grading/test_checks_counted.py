"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

import pytest

from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from trainer.grading.grader import Grader
from trainer.packs import pack_reader

PREFIX_SUM = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


MATRIX = "x @ torch.ones(x.shape[-1], x.shape[-1], dtype=x.dtype).triu()"


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(f"return {MATRIX}", id="always"),
        pytest.param(
            f"return {MATRIX} if torch.is_grad_enabled() else torch.cumsum(x, dim=-1)",
            id="only with gradients",
        ),
        pytest.param(
            f"return torch.cumsum(x, dim=-1) if torch.is_grad_enabled() else {MATRIX}",
            id="only without",
        ),
        pytest.param(
            "grown = x.new_empty(0)\n    grown.resize_(x.shape[-1] ** 2)\n    return torch.cumsum(x, dim=-1)",
            id="a tensor that grows",
        ),
    ],
)
def test_memory_is_counted_on_every_way(grader: Grader, now: str) -> None:
    """With gradients and without, in fresh tensors and in such as grow."""
    source = pack_reader.solution(PREFIX_SUM).replace(
        "return torch.cumsum(x, dim=-1)\n", now + "\n"
    )
    assert now in source
    report = report_of(grader, PREFIX_SUM, source, "prefix_sum.py", 3)
    assert {check for check, status in report.statuses().items() if status == "failed"} == {
        "memory"
    }
    way = " (with gradients)" if "if torch.is_grad_enabled() else torch.cumsum" in now else ""
    assert (
        report.first_failure().message
        == f"the largest tensor made has 4,096 entries{way}; it must have fewer than 4,096"
    )


@pytest.mark.parametrize("printed", ["", "print('mine')"])
def test_what_the_counters_print_is_not_shown(grader: Grader, printed: str) -> None:
    """In the case of a loop, whose calls are counted, the report shows what the learner's code prints and nothing of the profiler's."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    loop = f"{printed or 'pass'}\n        scores = torch.stack([head / math.sqrt(self.head_dim) for head in scores.unbind(1)], 1)"
    source = pack_reader.solution(challenge).replace(
        "scores = scores / math.sqrt(self.head_dim)", loop
    )
    report = report_of(grader, challenge, source, "gqa.py", 5)
    assert report.first_failure().check == "vectorised"
    assert report.stdout == ("mine\n" if printed else "")
