"""The checks from scratch, vectorised and memory, which compare counts."""

import re
from pathlib import Path

import pytest

from attn_drill.grading.case_set import load_case_set
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge
from attn_drill.model.report import Report
from attn_drill.packs import pack_reader
from tests.support.casekit import patched
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
from tests.support.rows import each_row

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


@each_row(
    "body",
    {
        "always": f"return {MATRIX}",
        "without gradients": f"return {CUMSUM} if torch.is_grad_enabled() else {MATRIX}",
        "a tensor that grows": (
            f"grown = x.new_empty(0)\n    grown.resize_(x.shape[-1] ** 2)\n    return {CUMSUM}"
        ),
    },
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


PACK = pack_reader.built_in_pack()
SEED = 21
ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
LOOP = "vectorised", "tensor operations become .*there is a loop over batch, heads or positions"
PYTHON_LOOP = "vectorised", "lines of Python run, .*there is a loop over batch, heads or positions"
OUTSIDE = "vectorised", "values leave torch .* come back.*: the work is done outside torch"
IS_LIBRARY = (
    "from scratch",
    "F.scaled_dot_product_attention is called .*: write attention from scratch",
)
LARGEST = "memory", "the largest tensor made has .* it must have fewer than"
FLOPS = "work", "floating-point operations in products; the formula gives"

# Name of a breach -> challenge, a place in its reference, the text there, the check and its words.
BREACHES: dict[str, tuple[str, str, str, tuple[str, str]]] = {
    "sdpa by the library": (
        "sdpa",
        "return weights @ v",
        f"return {ATTENTION}(q, k, v, attn_mask=mask)",
        IS_LIBRARY,
    ),
    "a loop over queries": (
        "sdpa",
        "return weights @ v",
        "return torch.stack([weights[..., i, None, :] @ v for i in range(q.shape[-2])], -3)"
        ".squeeze(-2)",
        LOOP,
    ),
    "a round trip through numpy": (
        "sdpa",
        "return weights @ v",
        "out = weights @ v\n"
        "    if not out.requires_grad:\n"
        "        out = torch.from_numpy(out.double().numpy()).to(q.dtype)\n"
        "    return out",
        OUTSIDE,
    ),
    "mha by the library": (
        "mha",
        "heads = dropped @ v",
        f"heads = {ATTENTION}(q, k, v, mask, self.dropout.p if self.training else 0.0)",
        IS_LIBRARY,
    ),
    "a loop over the batch": (
        "mha",
        "heads = dropped @ v",
        "heads = torch.stack([one @ two for one, two in zip(dropped, v)])",
        LOOP,
    ),
    "a loop over heads": (
        "gqa",
        "heads = weights @ v",
        "heads = torch.stack([weights[:, h] @ v[:, h] for h in range(self.num_heads)], 1)",
        LOOP,
    ),
    "compiled library attention": (
        "gqa",
        "heads = weights @ v",
        f"heads = torch.compile({ATTENTION})(q, k, v, mask)",
        IS_LIBRARY,
    ),
    "a list of lists in place of a tensor": (
        "gqa",
        "heads = weights @ v",
        "if not weights.requires_grad:\n"
        "            weights = torch.tensor(weights.tolist(), dtype=x.dtype)\n"
        "        heads = weights @ v",
        OUTSIDE,
    ),
    "a mask by nested lists": (
        "masks",
        "visible = key_pos[None, :] <= query_pos[:, None]",
        "visible = torch.tensor("
        "[[j <= i + k_len - q_len for j in range(k_len)] for i in range(q_len)])",
        PYTHON_LOOP,
    ),
    "a mask row by row": (
        "masks",
        "visible = key_pos[None, :] <= query_pos[:, None]",
        "visible = torch.zeros(q_len, k_len, dtype=torch.bool)\n"
        "    for i in range(q_len):\n"
        "        visible[i, : i + k_len - q_len + 1] = True",
        LOOP,
    ),
    "lengths as a list": (
        "masks",
        "real = key_pos < lengths[:, None]",
        "real = torch.tensor([[j < n for j in range(max_len)] for n in lengths.tolist()])",
        ("vectorised", f"{OUTSIDE[1]}|{PYTHON_LOOP[1]}"),
    ),
    "all scores at once in flash": (
        "flash",
        "scale = 1 / math.sqrt(head_dim)",
        "scale = 1 / math.sqrt(head_dim)\n    everything = q @ k.transpose(-2, -1)",
        LARGEST,
    ),
    "flash by the library": (
        "flash",
        "return out.to(q.dtype)",
        f"return {ATTENTION}(q, k, v, is_causal=causal)",
        IS_LIBRARY,
    ),
    "all blocks kept in flash": (
        "flash",
        "        row_max = new_max",
        "        row_max = new_max\n        kept = [*(kept if start else ()), weights]",
        ("memory", "bytes of tensors are alive at once; there must be fewer than"),
    ),
    "all scores at once in linear attention": (
        "linear-attention",
        "numerators, denominators = [], []",
        "numerators, denominators = [], []\n    weights = phi_q @ phi_k.transpose(-2, -1)",
        LARGEST,
    ),
    "the past projected again": (
        "kv-cache",
        "past_length = past_k.shape[2]",
        "past_length = past_k.shape[2]\n"
        "            old = self.k_proj(past_k.transpose(1, 2).flatten(2))",
        FLOPS,
    ),
    "old queries scored again": (
        "kv-cache",
        "scores = q @ k.transpose(-2, -1)",
        "scores = torch.cat([k[:, :, :past_length], q], 2) @ k.transpose(-2, -1)\n"
        "        scores = scores[:, :, past_length:]",
        FLOPS,
    ),
    "old queries scored again by hand": (
        "gqa-kv-cache",
        "scores = q @ keys.transpose(-2, -1)",
        "rows = torch.cat([keys[:, :, :past_length], q], 2)\n"
        "        scores = (rows[..., None, :] * keys[..., None, :, :]).sum(-1)\n"
        "        scores = scores[:, :, past_length:]",
        FLOPS,
    ),
    "a decode step outside torch": (
        "kv-cache",
        "scores = scores / math.sqrt(self.head_dim)",
        "scores = scores / math.sqrt(self.head_dim)\n"
        "        if length == 1 and not scores.requires_grad:\n"
        "            scores = torch.from_numpy(scores.double().numpy()).to(x.dtype)",
        ("work", "values leave torch or come from outside"),
    ),
    "rms_norm by the library": (
        "rmsnorm",
        "return scaled.to(x.dtype)",
        "return torch.nn.functional.rms_norm(x, x.shape[-1:], self.weight.to(x.dtype), self.eps)",
        ("from scratch", r"torch\.rms_norm is called .*: this challenge forbids it"),
    ),
    "softmax by the library": (
        "stable-softmax",
        "return exponentials / divisor",
        "return x.softmax(dim)",
        ("from scratch", r"torch\.softmax is called .*: this challenge forbids it"),
    ),
    "softmax by logsumexp": (
        "stable-softmax",
        "return exponentials / divisor",
        "return (x - x.logsumexp(dim, keepdim=True)).exp()",
        ("from scratch", r"torch\.logsumexp is called .*: this challenge forbids it"),
    ),
    "cross_entropy by the library": (
        "next-token-loss",
        "def next_token_loss(logits, ",
        "def next_token_loss(logits, *given, **named):\n"
        "    plain = torch.nn.functional.cross_entropy(logits[0], torch.zeros_like(logits[0, :, 0],"
        " dtype=torch.long))\n"
        "    return own_loss(logits, *given, **named)\n\n\n"
        "def own_loss(logits, ",
        ("from scratch", r"is called .*: this challenge forbids it"),
    ),
    "gradients by autograd": (
        "attention-backward",
        "    return grad_q, grad_k, grad_v",
        "    with torch.enable_grad():\n"
        "        leaf = v.detach().requires_grad_()\n"
        "        (grad_v,) = torch.autograd.grad(weights.detach() @ leaf, leaf, grad_out)\n"
        "    return grad_q, grad_k, grad_v",
        (
            "from scratch",
            r"differentiation \(torch\.autograd\) is called .*: this challenge forbids it",
        ),
    ),
    "layer_norm by the library": (
        "layer-norm",
        "    return out.to(x.dtype)",
        "    return torch.nn.LayerNorm(x.shape[-1], eps).to(x.dtype)(x) * weight + bias",
        ("from scratch", r"torch\.layer_norm is called .*: this challenge forbids it"),
    ),
}

BY_MODULE = """
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, bias, batch_first=True)

    def forward(self, query, key, value, mask=None, return_weights=False):
        out, weights = self.attention(query, key, value, average_attn_weights=False)
        return (out, weights) if return_weights else out
"""

# Name of a right answer -> challenge, a place in its reference, the text there.
ALLOWED: dict[str, tuple[str, str, str]] = {
    "a comparison with the library during the import": (
        "sdpa",
        "import torch\n",
        "import torch\n"
        f"assert {ATTENTION}(*[torch.ones(1, 1, 2, 2)] * 3).shape == (1, 1, 2, 2)\n"
        "torch.nn.MultiheadAttention(4, 2)(*[torch.ones(1, 2, 4)] * 3)\n",
    ),
    "vmap over the batch": (
        "mha",
        "heads = dropped @ v",
        "heads = torch.vmap(torch.matmul)(dropped, v)",
    ),
    "a mask of numpy": (
        "masks",
        "visible = key_pos[None, :] <= query_pos[:, None]",
        "visible = torch.from_numpy("
        "__import__('numpy').tri(q_len, k_len, k_len - q_len, dtype=bool))",
    ),
    "printed values": (
        "gqa",
        "heads = weights @ v",
        "print(weights.mean().item(), weights.detach().double().numpy().sum(-1).max())\n"
        "        heads = weights @ v",
    ),
    "a loop over the projections": (
        "gqa",
        "batch, length, d_model = x.shape",
        "batch, length, d_model = x.shape\n"
        "        for layer in (self.q_proj, self.k_proj, self.v_proj):\n"
        "            assert layer.weight.dim() == 2",
    ),
    "smaller blocks": (
        "flash",
        "scale = 1 / math.sqrt(head_dim)",
        "scale = 1 / math.sqrt(head_dim)\n    block_size = min(block_size, 16)",
    ),
    "a cache in a larger buffer": (
        "kv-cache",
        "k = torch.cat([past_k, k], dim=2)",
        "k = torch.cat([past_k, k, k], dim=2)[:, :, : past_length + length]",
    ),
    "gradients that nobody asks for": (
        "attention-backward",
        "    return grad_q, grad_k, grad_v",
        "    grad_q.requires_grad, grad_k.detach(), v.grad\n    return grad_q, grad_k, grad_v",
    ),
}


def report_on(grader: Grader, name: str, was: str, now: str) -> Report:
    """Return the report on the reference of a challenge with one place replaced."""
    challenge = pack_reader.find_challenge(PACK, name)
    source = patched(pack_reader.solution(challenge), was, now)
    return report_of(grader, challenge, source, challenge.file_name, SEED)


def assert_breaks(report: Report, check: str, says: str) -> None:
    """Assert that a check failed with a message, and that nothing else is wrong.

    Work outside torch also grows with the sizes.
    """
    failed = {outcome.check for outcome in report.outcomes if outcome.status == "failed"}
    assert check in failed, report.first_failure()
    assert failed <= {check, "vectorised"}, report.first_failure()
    assert report.verdict == ("not-allowed" if check == "from scratch" else "failed")
    messages = [outcome.message for outcome in report.outcomes if outcome.status == "failed"]
    assert any(re.search(says, message) for message in messages), messages


@pytest.mark.sampled(9)
@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_refused_by_its_check(grader: Grader, breach: str) -> None:
    """The values are right, so only the check of this rule fails."""
    name, was, now, failure = BREACHES[breach]
    assert_breaks(report_on(grader, name, was, now), *failure)


@pytest.mark.thorough
def test_a_layer_of_the_library_is_refused_although_its_weights_have_other_names(
    grader: Grader,
) -> None:
    """The layers of such an answer cannot be matched, but the reason is the library."""
    challenge = pack_reader.find_challenge(PACK, "mha")
    report = report_of(grader, challenge, BY_MODULE, challenge.file_name, SEED)
    assert report.verdict == "not-allowed"
    messages = [outcome.message for outcome in report.outcomes if outcome.check == "from scratch"]
    assert "nn.MultiheadAttention is called" in messages[0]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("answer", ALLOWED)
def test_a_right_answer_that_looks_alike_passes(grader: Grader, answer: str) -> None:
    """The rules are about work, not about words."""
    name, was, now = ALLOWED[answer]
    report = report_on(grader, name, was, now)
    assert report.verdict == "passed", report.first_failure()


# Put around every function or `forward` of an answer. `part` is each of its tensors in turn.
AROUND = """

import functools as _functools
import torch as _torch


def _around(plain):
    @_functools.wraps(plain)
    def wrapper(*given, **named):
        result = plain(*given, **named)
        for part in _tensors([given, named, result]):
            {body}
        return result

    return wrapper


def _tensors(value):
    if isinstance(value, _torch.Tensor):
        return [value] if value.dim() else []
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, (list, tuple, type({{}}.values()))):
        return sum(map(_tensors, value), [])
    return []


"""
BODIES = {
    "a loop": ("[row.clone() for row in part.reshape(-1, part.shape[-1])]", "vectorised"),
    "lists": ("_torch.tensor(part.tolist())", "vectorised"),
    "numpy": ("_torch.from_numpy(part.detach().double().numpy())", "vectorised"),
    "the library": (
        "_torch.nn.functional.scaled_dot_product_attention(*[_torch.ones(1, 1, 2, 2)] * 3)",
        "from scratch",
    ),
}
CHALLENGES = [
    challenge
    for challenge in pack_reader.read_pack(PACK)
    if challenge.kind in ("module", "function") and challenge.id != "attention-cost"  # no tensors
]


@pytest.mark.thorough
@pytest.mark.sampled(48)
@pytest.mark.parametrize("form", BODIES)
@pytest.mark.parametrize(
    "challenge",
    # The wrappers import torch, which is refused first where torch is forbidden.
    [challenge for challenge in CHALLENGES if "torch" not in challenge.forbids],
    ids=lambda challenge: challenge.id,
)
def test_every_challenge_refuses_what_it_forbids(
    grader: Grader, challenge: Challenge, form: str
) -> None:
    """The library's attention is refused everywhere, and a loop where growth is probed."""
    body, check = BODIES[form]
    probes = {case.probe for case in load_case_set(challenge, SEED).cases}
    if check == "vectorised" and check not in probes:
        pytest.skip("no case of this challenge grows")
    if challenge.id == "speculative" and form == "a loop":
        pytest.skip("a loop over the rows is allowed, and only the vocabulary grows")
    source = pack_reader.solution(challenge) + AROUND.format(body=body)
    for name in challenge.entry:
        target = f"{name}.forward" if name[0].isupper() else name
        source += f"{target} = _around({target})\n"
    report = report_of(grader, challenge, source, challenge.file_name, SEED)
    assert report.statuses()[check] == "failed", report.first_failure()
