"""The checks from scratch, vectorised and memory, which compare counts."""

from pathlib import Path

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.grading import (
    BUGS,
    CHECKED,
    assert_fails_first,
    grade,
    report_of,
    strict_pack,
    with_mistakes,
)
from tests.support.paths import TINY_PACK

PREFIX_SUM = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


def test_loop_is_described_if_no_size_grows(grader: Grader) -> None:
    """Two packed batches have as many tokens, but not as many sequences."""
    packed = pack_reader.find_challenge(pack_reader.built_in_pack(), "packed-attention")
    source = with_mistakes(packed, "loop-over-sequences")
    report = report_of(grader, packed, source, packed.file_name, 1)
    says = {
        outcome.case: outcome.message
        for outcome in report.outcomes
        if outcome.check == "vectorised" and outcome.status == "failed"
    }
    assert " in this case: there is a loop" in says["growing number of sequences, large"]
    assert " when L 5→24, H 3→8: there is a loop" in says["growing everything, large"]


def test_library_attention_is_refused(grader: Grader) -> None:
    """The message names the function, and the verdict says that the call is not allowed."""
    report = grade(grader, BUGS["library attention"])
    assert report.verdict == "not-allowed"
    assert_fails_first(report, "from scratch", "scaled_dot_product_attention is called")


MATRIX = "x @ torch.ones(x.shape[-1], x.shape[-1], dtype=x.dtype).triu()"
CUMSUM = "torch.cumsum(x, dim=-1)"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"return {MATRIX}", id="always"),
        pytest.param(
            f"return {CUMSUM} if torch.is_grad_enabled() else {MATRIX}", id="without gradients"
        ),
        pytest.param(
            f"grown = x.new_empty(0)\n    grown.resize_(x.shape[-1] ** 2)\n    return {CUMSUM}",
            id="a tensor that grows",
        ),
    ],
)
def test_large_tensor_is_refused(grader: Grader, body: str) -> None:
    """A large tensor is found, also if a small tensor grows."""
    source = pack_reader.solution(PREFIX_SUM).replace(f"return {CUMSUM}\n", f"{body}\n")
    assert body in source
    report = report_of(grader, PREFIX_SUM, source, "prefix_sum.py", 3)
    failed = {check for check, status in report.statuses().items() if status == "failed"}
    assert failed == {"memory"}
    assert (
        report.first_failure().message
        == "the largest tensor made has 4,096 entries; it must have fewer than 4,096"
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("printed", ["", "print('mine')"])
def test_output_of_the_counters_is_not_shown(grader: Grader, printed: str) -> None:
    """The report of a loop shows the text that the submission prints, and nothing else."""
    loop = (
        f"{printed or 'pass'}\n        scores = torch.stack("
        "[head / math.sqrt(self.head_dim) for head in scores.unbind(1)], 1)"
    )
    report = grade(grader, ("scores = scores / math.sqrt(self.head_dim)", loop))
    assert report.first_failure().check == "vectorised"
    assert report.stdout == ("mine\n" if printed else "")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "call",
    [
        "torch.cumsum(x, dim=-1)",
        "x.cumsum(-1)",
        "x.clone().cumsum_(-1)",
        "torch.ops.aten.cumsum.default(x, -1)",
    ],
)
def test_operation_that_the_challenge_forbids_is_refused(
    grader: Grader, tmp_path: Path, call: str
) -> None:
    """The operation is refused under every name; the message has the name of challenge.toml."""
    challenge = strict_pack(tmp_path / "pack", forbids="torch.cumsum")
    source = CHECKED.replace("torch.cumsum(x, dim=-1)", call)
    report = report_of(grader, challenge, source, "a.py", 1)
    assert report.verdict == "not-allowed"
    assert_fails_first(
        report, "from scratch", r"torch\.cumsum is called \(line 11\): this challenge forbids it"
    )


def test_answer_without_the_forbidden_operation_passes(grader: Grader, tmp_path: Path) -> None:
    """Other operations are allowed, although the backward pass of some uses the forbidden one."""
    challenge = strict_pack(tmp_path / "pack", forbids="torch.flip")
    source = CHECKED.replace("x.flip(-1)).flip(-1)", "x[:, R(x)])[:, R(x)]")
    source += "\n\ndef R(x):\n    return torch.arange(x.shape[1] - 1, -1, -1)\n"
    report = report_of(grader, challenge, source, "a.py", 1)
    assert report.verdict == "passed", report.first_failure()


# The gradient of suffix sums, with x as the gradient of the sums, is the prefix sums of x.
SUFFIX = "lambda y: y.flip(-1).cumsum(-1).flip(-1)"
LEAF = f"y = torch.zeros_like(x).requires_grad_(); sums = ({SUFFIX})(y)"
GRADIENTS = {
    "autograd.grad": f"{LEAF}; return torch.autograd.grad(sums, y, x)[0]",
    "grad in enabled mode": (
        f"torch.set_grad_enabled(True); {LEAF}; return torch.autograd.grad(sums, y, x)[0]"
    ),
    "backward of a tensor": f"{LEAF}; sums.backward(x); return y.grad",
    "backward": f"{LEAF}; torch.autograd.backward([sums], [x]); return y.grad",
    "func.vjp": f"return torch.func.vjp({SUFFIX}, x)[1](x)[0]",
    "func.grad": f"return torch.func.grad(lambda y: (({SUFFIX})(y) * x.detach()).sum())(x)",
    "func.vjp, imported late": (f"from torch.func import vjp; return vjp({SUFFIX}, x)[1](x)[0]"),
    "functional.vjp": f"return torch.autograd.functional.vjp({SUFFIX}, x, x)[1]",
    "jacrev": f"return torch.einsum('bi,bibj->bj', x, torch.func.jacrev({SUFFIX})(x))",
    "jacfwd": f"return torch.einsum('bi,bibj->bj', x, torch.func.jacfwd({SUFFIX})(x))",
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("way", GRADIENTS)
def test_automatic_differentiation_is_refused(grader: Grader, tmp_path: Path, way: str) -> None:
    """Every form is refused, in reverse and in forward mode, with gradients or without."""
    challenge = strict_pack(tmp_path / "pack", forbids="torch.autograd")
    source = CHECKED.replace("return torch.cumsum(x, dim=-1)", GRADIENTS[way])
    report = report_of(grader, challenge, source, "a.py", 1)
    assert report.verdict == "not-allowed", report.first_failure()
    assert_fails_first(
        report, "from scratch", r"automatic differentiation \(torch\.autograd\) is called"
    )


def test_own_backward_and_vmap_are_allowed_without_automatic_differentiation(
    grader: Grader, tmp_path: Path
) -> None:
    """The grader's own gradients still work, and so does vmap."""
    challenge = strict_pack(tmp_path / "pack", forbids="torch.autograd")
    mapped = CHECKED.replace("torch.cumsum(x, dim=-1)", "torch.vmap(lambda r: r.cumsum(0))(x)")
    for source in (CHECKED, mapped):
        report = report_of(grader, challenge, source, "a.py", 1)
        assert report.verdict == "passed", report.first_failure()
