"""The library's attention and the operations that a challenge forbids are refused.

The tests run as a worker does: the file is imported first, then called under `LibraryCalls`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attn_drill.grading.grader import Grader
from attn_drill.worker._observers import measured
from attn_drill.worker.library_calls import LibraryCalls, NotAllowedError
from tests.support.grading import RIGHT_SUM, grade_prefix_sum

Q = torch.randn(2, 3, 4, 8)
X = torch.randn(2, 5, 8)
ALIAS = F.scaled_dot_product_attention
HEADS = nn.MultiheadAttention(8, 2, batch_first=True)
ENCODER = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
DECODER = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)


def noted(
    call: Callable[[], object], *forbids: str, counted: bool = False
) -> list[tuple[str, bool]]:
    """Return what was noted while a call was refused, or that the call was not refused: []."""
    found: list[tuple[str, bool]] = []
    rules = LibraryCalls(
        forbids, lambda words, is_by_challenge: found.append((words, is_by_challenge))
    )
    run = (lambda: measured(call, __file__)) if counted else call
    # TorchScript makes its own exception of the refusal, which is a RuntimeError too.
    with rules, contextlib.suppress(RuntimeError):
        run()
        assert not found, "the refusal was noted, but it raised nothing"
    return found


def in_eval(module: nn.Module, *given: torch.Tensor) -> object:
    """Return the result of a module in eval mode without gradients, where torch has fast paths."""
    with torch.no_grad():
        return module.eval()(*given)


def in_script(q: torch.Tensor) -> torch.Tensor:
    """Call the library's attention in TorchScript, where no function of Python is called."""
    return torch.nn.functional.scaled_dot_product_attention(q, q, q)


def flexible() -> object:
    """Call flex_attention, which torch imports late."""
    from torch.nn.attention.flex_attention import flex_attention

    with torch.compiler.set_stance("force_eager"):  # workers compile nothing
        return flex_attention(Q, Q, Q)


def partial() -> object:
    """Call the library's attention through functools."""
    import functools

    return functools.partial(ALIAS, is_causal=True)(Q, Q, Q)


SDPA, MHA = "F.scaled_dot_product_attention", "nn.MultiheadAttention"
LAYER = "nn.TransformerEncoderLayer"
ATTENTION: dict[str, tuple[Callable[[], object], set[str]]] = {
    "F.sdpa": (lambda: F.scaled_dot_product_attention(Q, Q, Q), {SDPA}),
    "an alias": (lambda: ALIAS(Q, Q, Q), {SDPA}),
    "imported by name": (lambda: sdpa(Q, Q, Q, is_causal=True), {SDPA}),
    "functools.partial": (partial, {SDPA}),
    "getattr": (lambda: getattr(F, "scaled_dot" + "_product_attention")(Q, Q, Q), {SDPA}),
    "torch.compile": (lambda: torch.compile(ALIAS, backend="eager")(Q, Q, Q), {SDPA}),
    "vmap": (lambda: torch.vmap(ALIAS)(Q, Q, Q), {SDPA}),
    "map": (lambda: list(map(ALIAS, Q, Q, Q)), {SDPA}),
    "torch.ops.aten": (lambda: torch.ops.aten.scaled_dot_product_attention(Q, Q, Q), {SDPA}),
    "with gradients": (lambda: ALIAS(Q.clone().requires_grad_(), Q, Q).sum().backward(), {SDPA}),
    "in a checkpoint": (
        lambda: torch.utils.checkpoint.checkpoint(
            ALIAS, Q.clone().requires_grad_(), Q, Q, use_reentrant=False
        ),
        {SDPA},
    ),
    "nn.MultiheadAttention": (lambda: HEADS.train()(X, X, X), {MHA}),
    "nn.MultiheadAttention without weights": (
        lambda: HEADS.train()(X, X, X, need_weights=False),
        {MHA},
    ),
    "nn.MultiheadAttention in eval": (lambda: HEADS.eval()(X, X, X), {MHA}),
    "nn.MultiheadAttention, fast path": (lambda: in_eval(HEADS, X, X, X), {MHA}),
    "F.multi_head_attention_forward": (
        lambda: F.multi_head_attention_forward(
            X,
            X,
            X,
            8,
            2,
            HEADS.in_proj_weight,
            HEADS.in_proj_bias,
            None,
            None,
            False,
            0.0,
            HEADS.out_proj.weight,
            HEADS.out_proj.bias,
        ),
        {MHA},
    ),
    "nn.TransformerEncoderLayer": (lambda: ENCODER.train()(X), {MHA}),
    "nn.TransformerEncoderLayer, fast path": (lambda: in_eval(ENCODER, X), {MHA, LAYER}),
    "nn.TransformerEncoder": (
        lambda: in_eval(nn.TransformerEncoder(ENCODER, 2, enable_nested_tensor=False), X),
        {MHA, LAYER},
    ),
    "nn.TransformerDecoderLayer": (lambda: DECODER.train()(X, X), {MHA}),
    "nn.TransformerDecoderLayer in eval": (lambda: in_eval(DECODER, X, X), {MHA}),
    "nn.Transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True)(X, X),
        {MHA, LAYER},
    ),
    "flex_attention": (flexible, {"flex_attention"}),
}


@pytest.mark.parametrize("form", ATTENTION)
@pytest.mark.filterwarnings("ignore")
def test_the_attention_of_the_library_is_refused(form: str) -> None:
    """Every form in which an honest person writes it is refused, with the word for it."""
    call, words = ATTENTION[form]
    found = noted(call)
    assert found, "not refused"
    assert found[0][0] in words
    assert not found[0][1], "no challenge has to forbid it"


@pytest.mark.filterwarnings("ignore")
def test_attention_in_a_scripted_function_is_seen_in_counted_calls() -> None:
    """TorchScript calls the kernel without Python. The dispatched kernel shows it."""
    scripted = torch.jit.script(in_script)
    found = noted(lambda: scripted(Q), counted=True)
    assert found
    assert found[0][0] in (SDPA, "the flash attention kernel")


SOFTMAX, LOGSUMEXP = "torch.*softmax*", "torch.*logsumexp*"
CUMSUM = "torch.cumsum"
FORBIDDEN: dict[str, tuple[str, Callable[[], object], str]] = {
    "torch.softmax": (SOFTMAX, lambda: torch.softmax(X, -1), "torch.softmax"),
    "F.softmax": (SOFTMAX, lambda: F.softmax(X, -1), "torch.softmax"),
    "Tensor.softmax": (SOFTMAX, lambda: X.softmax(-1), "torch.softmax"),
    "nn.Softmax": (SOFTMAX, lambda: nn.Softmax(-1)(X), "torch.softmax"),
    "torch.special.softmax": (SOFTMAX, lambda: torch.special.softmax(X, -1), "torch.softmax"),
    "torch.log_softmax": (SOFTMAX, lambda: torch.log_softmax(X, -1), "torch.log_softmax"),
    "F.gumbel_softmax": (SOFTMAX, lambda: F.gumbel_softmax(X), "torch.gumbel_softmax"),
    "torch.sparse.softmax": (
        SOFTMAX,
        lambda: torch.sparse.softmax(torch.eye(3).to_sparse(), -1),
        "torch.sparse_softmax",
    ),
    "torch.logsumexp": (LOGSUMEXP, lambda: torch.logsumexp(X, -1), "torch.logsumexp"),
    "Tensor.logsumexp": (LOGSUMEXP, lambda: X.logsumexp(-1), "torch.logsumexp"),
    "torch.special.logsumexp": (
        LOGSUMEXP,
        lambda: torch.special.logsumexp(X, -1),
        "torch.logsumexp",
    ),
    "torch.cumsum": (CUMSUM, lambda: torch.cumsum(X, 1), CUMSUM),
    "Tensor.cumsum": (CUMSUM, lambda: X.cumsum(1), CUMSUM),
    "Tensor.cumsum_": (CUMSUM, lambda: X.clone().cumsum_(1), CUMSUM),
    "in vmap": (CUMSUM, lambda: torch.vmap(lambda row: row.cumsum(0))(X), CUMSUM),
    "F.cross_entropy": (
        "torch.*cross_entropy*",
        lambda: nn.CrossEntropyLoss()(X[:, 0], torch.zeros(2, dtype=torch.long)),
        "torch.cross_entropy",
    ),
}


@pytest.mark.parametrize("form", FORBIDDEN)
@pytest.mark.filterwarnings("ignore")
def test_an_operation_that_the_challenge_forbids_is_refused(form: str) -> None:
    """Every public form is refused, with the name of the challenge or the name that was called."""
    forbids, call, words = FORBIDDEN[form]
    assert noted(call, forbids)[:1] == [(words, True)]
    assert noted(call) == []


def leaf() -> torch.Tensor:
    """Return an input with gradients."""
    return X.clone().requires_grad_()


DIFFERENTIATION: dict[str, Callable[[], object]] = {
    ".backward()": lambda: leaf().sum().backward(),
    "torch.autograd.grad": lambda: torch.autograd.grad((y := leaf()).sum(), y),
    "torch.autograd.backward": lambda: torch.autograd.backward([leaf().sum()]),
    "torch.func.grad": lambda: torch.func.grad(torch.sum)(X),
    "torch.func.vjp": lambda: torch.func.vjp(torch.exp, X)[1](X),
    "torch.func.jvp": lambda: torch.func.jvp(torch.exp, (X,), (X,)),
    "torch.func.jacrev": lambda: torch.func.jacrev(torch.exp)(X[0, 0]),
    "torch.func.jacfwd": lambda: torch.func.jacfwd(torch.exp)(X[0, 0]),
    "torch.func.hessian": lambda: torch.func.hessian(lambda y: y.exp().sum())(X[0, 0]),
    "functional.jacobian": lambda: torch.autograd.functional.jacobian(torch.exp, X[0, 0]),
    "functional.vjp": lambda: torch.autograd.functional.vjp(torch.exp, X, X),
    "forward_ad": lambda: forward_mode(),
    "grad_fn": lambda: cast(Any, (leaf() * 2).grad_fn)(X),
}


def forward_mode() -> object:
    """Differentiate with dual numbers."""
    from torch.autograd import forward_ad

    with forward_ad.dual_level():
        return forward_ad.unpack_dual(forward_ad.make_dual(X, X).exp()).tangent


@pytest.mark.parametrize("form", DIFFERENTIATION)
@pytest.mark.filterwarnings("ignore")
def test_automatic_differentiation_is_refused_where_it_is_forbidden(form: str) -> None:
    """Every form is refused, and only where the challenge forbids it."""
    call = DIFFERENTIATION[form]
    words = "automatic differentiation (torch.autograd)"
    assert noted(call, "torch.autograd")[:1] == [(words, True)]
    assert noted(call) == []


def scaled_dot_product_attention(q: torch.Tensor) -> torch.Tensor:
    """Compute attention from scratch, under the name of the library."""
    return torch.softmax(q @ q.mT, -1) @ q


class MultiheadAttention(nn.Module):
    """Attention of the learner with the library's name, and layers that look like the library's."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.in_proj_weight = nn.Parameter(torch.randn(8, 8))
        self.unused = [nn.MultiheadAttention(8, 2)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the attention of two heads."""
        return (
            sum(scaled_dot_product_attention(head(x)) for head in self.heads) @ self.in_proj_weight
        )


class OwnSoftmax(torch.autograd.Function):
    """A softmax with its own backward pass, which is no automatic differentiation."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the softmax."""
        weights = (x - x.amax(-1, keepdim=True)).exp()
        weights = weights / weights.sum(-1, keepdim=True)
        context.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(context: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of the input."""
        (weights,) = context.saved_tensors
        return weights * (grad - (grad * weights).sum(-1, keepdim=True))


ALLOWED: dict[str, tuple[tuple[str, ...], Callable[[], object]]] = {
    "an own function of the same name": ((), lambda: scaled_dot_product_attention(Q)),
    "an own layer of the same name": ((), lambda: MultiheadAttention()(X)),
    "a constructor that makes a layer": ((), lambda: nn.MultiheadAttention(8, 2)),
    "the functions of another mode": ((), lambda: torch.softmax(X, -1).cumsum(1).logsumexp(-1)),
    "softmax by hand": ((SOFTMAX, LOGSUMEXP), lambda: OwnSoftmax.apply(X)),
    "softplus and softmin": ((CUMSUM,), lambda: F.softplus(F.softmin(X, -1))),
    "sum and cumprod": ((CUMSUM,), lambda: X.sum(1) + X.cumprod(1)[:, 0]),
    "an own backward pass": (("torch.autograd",), lambda: OwnSoftmax.apply(leaf())),
    "gradients switched off": (("torch.autograd",), lambda: torch.no_grad()(torch.exp)(leaf())),
    "attributes about gradients": (
        ("torch.autograd",),
        lambda: (leaf().grad, leaf().requires_grad, leaf().detach().requires_grad_()),
    ),
    "compiled code": ((), lambda: torch.compile(torch.sin, backend="eager")(X)),
}


@pytest.mark.parametrize("form", ALLOWED)
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_right_code_that_looks_alike_is_not_refused(form: str, *, counted: bool) -> None:
    """Names of the learner, and operations with similar names, are no calls of the library."""
    forbids, call = ALLOWED[form]
    assert noted(call, *forbids, counted=counted) == []


def test_the_library_may_be_called_before_and_after() -> None:
    """A self-test at the end of a file compares with the library while the file is imported."""
    rules = LibraryCalls((), lambda words, is_by_challenge: None)
    with rules:
        torch.exp(X)
    assert ALIAS(Q, Q, Q).shape == Q.shape
    with rules, pytest.raises(NotAllowedError, match=f"{SDPA} is not allowed here"):
        ALIAS(Q, Q, Q)


def test_a_caught_refusal_is_noted() -> None:
    """An `except` of the submission does not hide the call."""
    found: list[str] = []
    with LibraryCalls((), lambda words, is_by_challenge: found.append(words)):
        try:
            ALIAS(Q, Q, Q)
        except Exception:
            torch.exp(Q)
    assert found == [SDPA]


TRIES_IMPORTS = """
import importlib, importlib.util
found = []
for name in ("transformers", "flash_attn", "xformers.ops", "flash_attn.flash_attn_interface"):
    try:
        importlib.import_module(name)
        found.append(name)
    except ModuleNotFoundError as error:
        assert error.name.partition(".")[0] == name.partition(".")[0], error.name
assert not found, found
assert importlib.util.find_spec("transformers") is None
"""


def test_packages_of_attention_are_not_importable(grader: Grader) -> None:
    """A submission that tries such a package, and does without it, passes."""
    source = TRIES_IMPORTS + RIGHT_SUM.format("pass")
    report = grade_prefix_sum(grader, source)
    assert report.verdict == "passed", report.first_failure()


@pytest.mark.parametrize(
    "statement",
    ["import transformers", "from transformers import BertModel", "import xformers.ops as ops"],
)
def test_import_of_a_package_of_attention_has_the_ordinary_message(
    grader: Grader, statement: str
) -> None:
    """The message is that of a package which is not installed."""
    report = grade_prefix_sum(grader, f"{statement}\n" + RIGHT_SUM.format("pass"))
    failure = report.first_failure()
    assert report.verdict == "error"
    assert failure.check == "loads"
    assert "ModuleNotFoundError: No module named '" in failure.message
    assert "halted" not in failure.message


def test_hidden_packages_stay_importable_here() -> None:
    """Only fork servers hide packages. `sys.modules` of this process is not changed."""
    assert "transformers" not in sys.modules
    assert importlib.util.find_spec("torch") is not None
