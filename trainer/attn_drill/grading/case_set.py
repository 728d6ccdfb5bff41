"""The cases of a challenge under a seed, and the request that sends them to a worker process.

A case set is computed once and shared by all submissions of the same challenge and seed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

import msgspec
import torch
from torch import Tensor

from attn_drill.casekit.draw import Draw
from attn_drill.grading._reference import Expected, PreparedCase, Reference
from attn_drill.grading.content import Content, in_authors_words, load_content
from attn_drill.model.case import Case, Refusal
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import GraderError, PackError
from attn_drill.worker.execution import map_leaves
from attn_drill.worker.protocol import (
    DTYPES,
    Assigned,
    Call,
    RefusedCall,
    Request,
    Run,
    TensorTable,
    decode,
    encode,
)

# The purpose of a request. Only "grade" makes the calls that a verdict needs. The others make one
# call for each case: "outputs" sends its outputs, "facts" gathers facts for the lesson, and the
# rest records its steps (see `worker.protocol.Observe`).
Purpose = Literal["grade", "lines", "tensors", "gradients", "outputs", "facts"]
Calls = tuple[Call, ...]

_FIRST, _FIRST_WITH_GRADIENTS = Call(), Call(gradients=True)
_IN_EVAL_MODE = Call(is_in_eval_mode=True)
_COUNTED = (Call(observe="cost"),)

# Random streams. They are separate from the stream that draws the inputs of the first call.
_AGAIN, _WEIGHTS, _RANDOM = 1, 2, 3

_RANDOM_NUMBERS = 1 << 16  # more than a case draws


def calls_for(purpose: Purpose, graded: Calls) -> Calls:
    """Return the calls of a case for a purpose."""
    if purpose == "grade":
        return graded
    return (_FIRST if purpose == "outputs" else Call(observe=purpose),)


def graded_calls(prepared: Sequence[PreparedCase]) -> tuple[Calls, ...]:
    """Return the calls that a verdict needs, for each case."""
    kinds: set[tuple[str, str]] = set()
    of_cases: list[Calls] = []
    for case in prepared:
        first = _FIRST_WITH_GRADIENTS if case.cotangents else _FIRST
        second = Call("second", is_in_same_memory=True, weights=case.second_weights)
        if case.case.probe:
            of_cases.append(_COUNTED)
        elif case.case.dropout is not None:
            # The two calls in training mode must draw other random numbers. Between them, nothing
            # may be dropped.
            of_cases.append((first, _IN_EVAL_MODE, _FIRST))
        elif (kind := (case.case.mode, case.case.check)) not in kinds:
            # Once for each kind of case, a third call on the first values shows results that are
            # random, or that the second call has spoilt.
            kinds.add(kind)
            of_cases.append((first, second, _FIRST))
        else:
            of_cases.append((first, second))
    return tuple(of_cases)


def trivial_credits(cases: Sequence[PreparedCase]) -> Mapping[str, Sequence[float]]:
    """Return the share of right outputs in each case for zeros, ones, each input, and its means."""
    by_answer: dict[str, list[float]] = {}
    for index, prepared in enumerate(cases):
        expected = prepared.expected
        count = len(expected.outputs) + len(expected.plain)
        answers: dict[str, Tensor | float] = {"zeros": 0.0, "ones": 1.0}
        for name, tensor in prepared.tensors.items():
            if tensor.is_floating_point():
                answers[name] = tensor
                for dim in range(tensor.dim()):
                    answers[f"mean of {name} along {dim}"] = tensor.mean(dim, keepdim=True)
        for answer, value in answers.items():
            right = 0
            for output, want in expected.outputs.items():
                right += _is_within(value, want.value, expected.bounds[output])
            by_answer.setdefault(answer, [0.0] * len(cases))[index] = right / count
    return by_answer


def _is_within(value: Tensor | float, want: Tensor, bound: Tensor) -> bool:
    """Return whether a value that fills the shape of the right one is as near as a right answer."""
    if isinstance(value, Tensor):
        sizes = zip(value.shape, want.shape, strict=False)
        if value.dim() and value.dim() != want.dim():
            return False
        if not all(size in (1, wanted) for size, wanted in sizes):
            return False
        value = value.double()
    return bool(((value - want.double()).abs() <= bound).all())


@dataclass(frozen=True, eq=False)
class CaseSet:
    """All data needed to grade a submission of one challenge under one seed."""

    content: Content  # the challenge's `cases.py` and reference
    seed: int  # the seed of all random values
    prepared: tuple[PreparedCase, ...]  # the cases with their inputs and weights, in order
    refusals: tuple[Refusal, ...]  # calls with bad sizes that the submission must refuse
    is_tied: bool = False  # True if the parameters that a submission may tie are tied
    # Results about these cases, by their class: a diagnosis puts them here, and they end together.
    kept: dict[type, Any] = field(init=False, default_factory=dict)
    _decoded: dict[Purpose, tuple[Request, list[Tensor]]] = field(init=False, default_factory=dict)

    @property
    def challenge(self) -> Challenge:
        """The challenge that the cases belong to."""
        return self.content.challenge

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The cases as `cases.py` describes them."""
        return tuple(prepared.case for prepared in self.prepared)

    def expect(self) -> list[Expected]:
        """Return the expected results of every case. The first call computes them."""
        return [prepared.expected for prepared in self.prepared]

    @cached_property
    def trivial_credits(self) -> Mapping[str, Sequence[float]]:
        """The share of right outputs in each case, by trivial answer."""
        return trivial_credits(self.prepared)

    @cached_property
    def tied(self) -> CaseSet:
        """These cases for a submission that ties all parameters which its challenge lets it tie."""
        reference = Reference(self.content, is_tied=True)
        tied_cases = []
        for usual in self.prepared:
            parameters = dict(usual.parameters)
            for name, _ in self.challenge.ties:
                parameters.pop(name, None)
            exact = reference.build(usual.case, "float64")
            tied = replace(usual, parameters=parameters, reference=reference, exact=exact)
            tied_cases.append(replace(tied, smaller=None))
        return replace(self, prepared=_with_growth(tied_cases), is_tied=True)

    def select(self, indices: Collection[int], *, alone: bool = False) -> CaseSet:
        """Return a case set of the selected cases, without refusals.

        Args:
            indices: case indices, from 0.
            alone: False to add the other case of a growth probe.
        """
        chosen = {self.prepared[index] for index in indices}
        for large in self.prepared:
            if large.smaller is not None and not alone and chosen & {large, large.smaller}:
                chosen |= {large, large.smaller}
        kept = tuple(prepared for prepared in self.prepared if prepared in chosen)
        return replace(self, prepared=kept, refusals=())

    @cached_property
    def calls(self) -> tuple[Calls, ...]:
        """The calls of each case that a verdict needs."""
        return graded_calls(self.prepared)

    def request(self, assignment: Assigned | None = None, purpose: Purpose = "grade") -> bytes:
        """Return the message that makes a worker process run a submission on all cases.

        Args:
            assignment: the roles of the learner's layers; by default the first that fits all cases.
        """
        runs, refused, table = self._runs
        if purpose != "grade":
            runs = [
                msgspec.structs.replace(run, calls=list(calls_for(purpose, graded)))
                for run, graded in zip(runs, self.calls, strict=True)
            ]
        body = Request(
            drive_source=self.content.drive_source,
            kind=self.challenge.kind,
            entry=list(self.challenge.entry),
            random_seed=_random_seed(self.seed),
            runs=runs,
            refusals=refused,
            assignment={path: list(roles) for path, roles in (assignment or {}).items()},
            signatures=list(self.content.signatures),
            forbids=list(self.challenge.forbids),
            ties=list(self.challenge.ties if self.is_tied else ()),
            realistic=self._realistic_run() if purpose == "facts" else None,
        )
        return encode(body, table)

    def _realistic_run(self) -> Run | None:
        """Return the realistic call of the challenge, if the challenge describes one."""
        case = self.content.realistic()
        if case is None:
            return None
        prepared = replace(self.prepared[0], case=case, inputs=case.inputs, second={})
        prepared = replace(prepared, parameters={}, cotangents={})
        return _run(prepared, (), TensorTable())  # it has shapes only, so the table stays empty

    def decoded_request(self, purpose: Purpose) -> tuple[Request, list[Tensor]]:
        """Return the request as a worker decodes it.

        References and known mistakes are trusted, so they run in this process and need no worker.
        """
        if purpose not in self._decoded:
            self._decoded[purpose] = decode(self.request(purpose=purpose), Request)
        return self._decoded[purpose]

    @cached_property
    def _runs(self) -> tuple[list[Run], list[RefusedCall], TensorTable]:
        table = TensorTable()
        runs = [
            _run(prepared, graded, table)
            for prepared, graded in zip(self.prepared, self.calls, strict=True)
        ]
        refused = []
        for refusal in self.refusals:
            call = refusal.call or self.challenge.entry[0]
            init = None if refusal.init is None else dict(refusal.init)
            refused.append(RefusedCall(call, table.tree(refusal.arguments), init))
        return runs, refused, table


def _run(prepared: PreparedCase, calls: Calls, table: TensorTable) -> Run:
    """Return the part of a request that describes one case. Its tensors go into the table."""
    case = prepared.case
    return Run(
        sizes=dict(case.sizes),
        init=dict(case.init),
        inputs=table.tree(prepared.inputs),
        second=table.tree(prepared.second),
        parameters={name: table.add(value) for name, value in prepared.parameters.items()},
        cotangents={name: table.add(value) for name, value in prepared.cotangents.items()},
        dtype=case.dtype,
        mode=case.mode,
        layout=dict(case.layout),
        differentiable=prepared.differentiable,
        calls=list(calls),
        initial=case.initial,
    )


def load_case_set(challenge: Challenge, seed: int) -> CaseSet:
    """Draw the cases of a challenge under a seed."""
    content = load_content(challenge)
    reference = Reference(content)
    cases = _flat(content.draw_cases(Draw(seed)))
    second_calls = _flat(content.draw_cases(Draw(seed, _AGAIN)))
    if len(cases) != len(second_calls):
        raise PackError(
            f"{content.cases_path}: two calls of cases() with the same seed yield different "
            "numbers of cases. Draw everything random with `draw`."
        )
    weights, random = Draw(seed, _WEIGHTS), Draw(seed, _RANDOM)
    prepared: list[PreparedCase] = []
    for case, second in zip(cases, second_calls, strict=True):
        with _blamed_on_case(content, case):
            if _plain_values(case.inputs) != _plain_values(second.inputs):
                raise PackError(
                    f"{content.cases_path}: case {case.name!r} draws a plain input from the stream "
                    "of values; draw it with draw.distinct."
                )
            usual = _prepared(content, reference, case, weights)
            cotangents = _drawn_cotangents(content, case, random)
            second_inputs = _rounded(case, second.inputs)
            prepared.append(replace(usual, second=second_inputs, cotangents=cotangents))
    # A submission may keep something of its first weights, for example their product.
    first_plain = next((index for index, case in enumerate(prepared) if _may_train(case)), None)
    if first_plain is not None:
        prepared[first_plain] = replace(prepared[first_plain], second_weights=0.5)
    return CaseSet(content, seed, _with_growth(prepared), content.refusals())


@contextmanager
def _blamed_on_case(content: Content, case: Case) -> Iterator[None]:
    # `pack check` looks for the wrong field with `casekit/case_rules.py`.
    try:
        yield
    except (PackError, GraderError):
        raise
    except Exception as error:
        doing = f"case {case.name!r} cannot be prepared:"
        raise PackError(in_authors_words(error, doing, content.cases_path)) from error


def load_training(case_set: CaseSet) -> CaseSet | None:
    """Return the small training of a challenge as the only case; None if there is none."""
    content = case_set.content
    case = content.training(Draw(case_set.seed))
    if case is None:
        return None
    with _blamed_on_case(content, case):
        weights = Draw(case_set.seed, _WEIGHTS)
        prepared = _prepared(content, Reference(content), case, weights)
    return CaseSet(content, case_set.seed, (prepared,), ())


def _may_train(prepared: PreparedCase) -> bool:
    """Return whether a case is a plain call of a module, whose weights may change."""
    case = prepared.case
    is_plain = case.check == "values" and case.mode == "eval" and case.dropout is None
    return is_plain and not case.probe and not case.initial and bool(prepared.parameters)


def _prepared(content: Content, reference: Reference, case: Case, weights: Draw) -> PreparedCase:
    """Return a case whose second call is like the first, and that compares no gradients."""
    exact = reference.build(case, "float64")
    inputs, parameters = _rounded(case, case.inputs), {}
    if content.challenge.kind == "module":
        parameters = _drawn_parameters(content, case, exact, weights)
    return PreparedCase(case, inputs, inputs, parameters, {}, reference, exact)


def _flat(cases: Iterable[Case]) -> list[Case]:
    """Return the cases in one list. The larger case of a growth probe follows the smaller one."""
    flat: list[Case] = []
    for case in cases:
        flat.append(replace(case, larger=None))
        if case.larger is not None:
            flat.append(case.larger)
    return flat


def _with_growth(prepared: Sequence[PreparedCase]) -> tuple[PreparedCase, ...]:
    """Return the cases with `smaller` set in the larger case of each growth probe."""
    linked: list[PreparedCase] = []
    small: PreparedCase | None = None
    for current in prepared:
        if current.case.probe == "vectorised" and small is None:
            small = current
        elif current.case.probe == "vectorised":
            current, small = replace(current, smaller=small), None
        linked.append(current)
    return tuple(linked)


def _plain_values(inputs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the values of inputs that are not tensors, and the shapes of tensors."""
    plain: list[tuple[str, Any]] = []
    for name, value in inputs.items():
        for part in value if isinstance(value, tuple | list) else (value,):
            plain.append((name, tuple(part.shape) if isinstance(part, Tensor) else part))
    return plain


def _rounded(case: Case, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs rounded to the case's dtype; constants are rounded to float32."""

    def rounded(name: str, tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        return tensor.to(torch.float32 if name in case.constants else DTYPES[case.dtype])

    return map_leaves(inputs, rounded)


def _drawn_parameters(content: Content, case: Case, module: Any, draw: Draw) -> dict[str, Tensor]:
    """Return values for all parameters of the reference, in the case's dtype."""
    values: dict[str, Tensor] = {}
    for name, parameter in module.named_parameters():
        shape = tuple(parameter.shape)
        if name in case.parameters:
            value = torch.as_tensor(case.parameters[name], dtype=torch.float64).expand(shape)
        elif len(shape) == 2:
            value = draw.normal(*shape, scale=shape[1] ** -0.5)
        elif name.endswith("bias"):
            value = draw.normal(*shape, scale=0.5)
        else:
            value = 1 + draw.normal(*shape, scale=0.3)
        values[name] = value.to(DTYPES[case.dtype])
    if unknown := set(case.parameters) - set(values):
        raise PackError(
            f"{content.cases_path}: case {case.name!r} sets {', '.join(unknown)}, "
            "which the reference does not have."
        )
    return values


def _drawn_cotangents(content: Content, case: Case, draw: Draw) -> dict[str, Tensor]:
    if not case.gradients or case.probe:
        return {}
    try:
        return {name: draw.normal(*case.output_shape(name)) for name in case.dims}
    except PackError as error:
        raise PackError(f"{content.cases_path}: case {case.name!r}: {error}") from None


@cache
def _random_seed(seed: int) -> int:
    """Return the seed of torch's random numbers in a worker, under a seed of the cases."""
    # With it, torch.rand gives no 0 in any case. A right answer may drop a weight where
    # `torch.rand(...) < p`. If p is tiny, a 0 would drop a weight that the reference keeps. In
    # float32 a number is 0 with probability 2**-24.
    candidates = torch.Generator().manual_seed(seed + _RANDOM)
    while True:
        candidate = int(torch.randint(1 << 62, (), generator=candidates))
        if torch.rand(_RANDOM_NUMBERS, generator=torch.Generator().manual_seed(candidate)).all():
            return candidate
