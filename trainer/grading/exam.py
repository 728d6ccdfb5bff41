"""A challenge and a seed: its cases, what the worker is told of them, and what the reference gives.

Everything here is computed once and shared by all submissions of the same seed. Load an exam only after the zygote has
been started: from then on the reference is in this process's memory.
"""

from __future__ import annotations

import copy
import math
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from trainer.comparing.tolerance import allowed, loss, lower_dtype
from trainer.content.interface import signatures
from trainer.content.packs import read_text, solution
from trainer.core.words import Case, Challenge, GraderError, PackError, Refusal
from trainer.casekit.draw import Draw
from trainer.grading.drive import drive_source
from trainer.grading.dropped import DropsAsSeen, kept_weights
from trainer.running.execution import (
    Drive,
    Given,
    build,
    gradients,
    lay_out,
    leaves,
    map_leaves,
    module_parameters,
)
from trainer.running.protocol import (
    DTYPES,
    Assigned,
    Purpose,
    Request,
    Run,
    TensorTable,
    decode,
    encode,
)
from trainer.running.returns import plain_value

_AGAIN, _WEIGHTS, _RANDOM = 1, 2, 3  # streams of values beside the inputs' own
_MOST_UNDER = 16  # drawings of dropout whose gradients are kept


@dataclass(frozen=True)
class Value:
    """What one tensor must be: its value in float64, what the case's dtype loses, and the dtype it must have."""

    value: Tensor
    lost: float
    dtype: str


@dataclass(frozen=True)
class Expected:
    """What the reference gives for one case."""

    outputs: Mapping[str, Value]
    again: Mapping[str, Value]
    plain: Mapping[str, str] = field(default_factory=dict)
    plain_again: Mapping[str, str] = field(default_factory=dict)
    gradients: Mapping[str, Value] = field(default_factory=dict)
    dtype: str = "float32"  # of the case

    @cached_property
    def bounds(self) -> Mapping[str, Tensor]:
        """How much each entry of an output may differ, by the output's name."""
        return {
            name: allowed(one.value, self.dtype, one.lost, self._scale_of(name))
            for name, one in self.outputs.items()
        }

    @cached_property
    def bounds_again(self) -> Mapping[str, Tensor]:
        """The same for the call on other values."""
        return {
            name: allowed(one.value, self.dtype, one.lost, self._scale_of(name))
            for name, one in self.again.items()
        }

    @cached_property
    def gradient_bounds(self) -> Mapping[str, Tensor]:
        """The same for the gradients, by what they are of."""
        return {
            name: allowed(one.value, self.dtype, one.lost, self.gradient_scale)
            for name, one in self.gradients.items()
        }

    def at_once(
        self, calls: tuple[bool, ...], names: tuple[str, ...]
    ) -> tuple[Tensor, Tensor] | None:
        """The values of several calls and gradients in one row, and how much each may differ; None where some are no numbers, or there are none.

        Args:
            calls: for each call whether it is the one on other values.
            names: what the gradients are of.
        """
        key = calls, names
        if key not in self._rows:
            values = [pair for again in calls for pair in self._beside(again)]
            values += [(self.gradients[name].value, self.gradient_bounds[name]) for name in names]
            numbers = (
                bool(values)
                and not self.plain
                and all(value.is_floating_point() for value, _ in values)
            )
            self._rows[key] = (
                (
                    torch.cat([one.reshape(-1) for one, _ in values]),
                    torch.cat([one.reshape(-1) for _, one in values]),
                )
                if numbers
                else None
            )
        return self._rows[key]

    def _beside(self, again: bool) -> list[tuple[Tensor, Tensor]]:
        bounds = self.bounds_again if again else self.bounds
        return [
            (one.value, bounds[name])
            for name, one in (self.again if again else self.outputs).items()
        ]

    @cached_property
    def _rows(self) -> dict[tuple[tuple[bool, ...], tuple[str, ...]], tuple[Tensor, Tensor] | None]:
        return {}

    def _scale_of(self, output: str) -> float:
        """The size against which an output's rounding is measured: its own, or that of the case where it is zero throughout."""
        return self._sizes.get(output, 0.0) or max(self._sizes.values(), default=0.0)

    @cached_property
    def _sizes(self) -> Mapping[str, float]:
        return {
            name: float(one.value.abs().max()) if one.value.numel() else 0.0
            for name, one in self.outputs.items()
            if one.value.dtype != torch.bool
        }

    @cached_property
    def gradient_scale(self) -> float:
        """The largest entry of all gradients of the case."""
        return max(
            (float(one.value.abs().max()) for one in self.gradients.values() if one.value.numel()),
            default=0.0,
        )


Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # of what is given by name


def load_module(name: str, path: str, source: str) -> dict[str, Any]:
    """Execute trusted content (cases, a reference) as a module; returns its names."""
    module = types.ModuleType(name)
    module.__file__ = path
    before = sys.modules.get(name)
    sys.modules[name] = module  # a dataclass looks its own module up
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except Exception as error:
        raise PackError(f"{path} cannot be loaded: {type(error).__name__}: {error}.") from error
    finally:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
    return module.__dict__


class Exam:
    """All that is needed to grade any submission of one challenge under one seed."""

    def __init__(self, challenge: Challenge, seed: int) -> None:
        self.challenge, self.seed = challenge, seed
        self.signatures = signatures(challenge)
        self.cases_path = str(challenge.folder / "cases.py")
        cases_source = read_text(challenge.folder / "cases.py")
        self._content = load_module("cases", self.cases_path, cases_source)
        for name in ("cases", "drive"):
            if name not in self._content:
                raise PackError(f"{self.cases_path} defines no `{name}`.")
        self._drive_source = drive_source(cases_source, self.cases_path)
        self.reference_source = solution(challenge)
        self._reference = load_module(
            "reference", str(challenge.solutions / "solution.py"), self.reference_source
        )
        self.cases = self._drawn(Draw(seed))
        again = self._drawn(Draw(seed, _AGAIN))
        self.refusals: tuple[Refusal, ...] = (
            tuple(self._content["refusals"]()) if "refusals" in self._content else ()
        )
        for case, other in zip(self.cases, again, strict=True):
            # The second call puts new values into the same tensors; everything else must be as it was.
            if _plain_values(case.inputs) != _plain_values(other.inputs):
                raise PackError(
                    f"{self.cases_path}: case {case.name!r} draws a plain input from the values; take it from draw.distinct."
                )
        self._inputs = [_rounded(case, case.inputs) for case in self.cases]
        self._again = [
            _rounded(case, other.inputs) for case, other in zip(self.cases, again, strict=True)
        ]
        self._exact: dict[
            int, Any
        ] = {}  # the reference in float64, built already, for who asks first what is expected
        self._parameters = self._draw_parameters()
        self._cotangents = self._draw_cotangents()
        self._purposes: list[Purpose | None] = [None] * len(self.cases)
        self._asked: dict[Purpose, tuple[Request, list[Tensor]]] = {}
        self._under: dict[tuple[int, str, bytes], Expected | None] = {}

    def _drawn(self, draw: Draw) -> tuple[Case, ...]:
        try:
            return tuple(self._content["cases"](draw))
        except Exception as error:
            raise PackError(
                f"{self.cases_path}: cases() raises {type(error).__name__}: {error}."
            ) from error

    def request(
        self,
        assignment: Assigned | None = None,
        purpose: Purpose = "grade",
        *,
        measured: bool = False,
    ) -> bytes:
        """The frame for a worker that is to run a file on all cases.

        Args:
            assignment: of the learner's layers; by default the first that fits all cases.
            measured: whether the kernel's count of its memory begins anew before each call.
        """
        body = Request(
            drive_source=self._drive_source,
            kind=self.challenge.kind,
            entry=list(self.challenge.entry),
            random_seed=int(
                torch.randint(
                    1 << 62, (), generator=torch.Generator().manual_seed(self.seed + _RANDOM)
                )
            ),
            runs=self._runs[0],
            refusals=[dict(refusal.init) for refusal in self.refusals],
            assignment={path: list(roles) for path, roles in (assignment or {}).items()},
            purpose=purpose,
            measured=measured,
            signatures=list(self.signatures),
        )
        return encode(body, self._runs[1])

    def asked(self, purpose: Purpose) -> tuple[Request, list[Tensor]]:
        """What a worker is told, but for the source: for content of the pack, which runs here."""
        if purpose not in self._asked:
            self._asked[purpose] = decode(self.request(purpose=purpose), Request)
        return self._asked[purpose]

    def only(self, numbers: Collection[int], *, alone: bool = False) -> Exam:
        """The same exam with these cases alone (counted from 0) and no refusals; with one vectorised probe comes the other of its pair, unless `alone`."""
        probes = (
            []
            if alone
            else [number for number, case in enumerate(self.cases) if case.probe == "vectorised"]
        )
        pairs = [set(pair) for pair in zip(probes[::2], probes[1::2], strict=False)]
        kept = sorted(set(numbers).union(*(pair for pair in pairs if pair & set(numbers))))
        smaller = copy.copy(self)
        smaller._asked = {}
        smaller._under = {}
        for what in ("_runs", "largest"):
            smaller.__dict__.pop(what, None)
        smaller.cases = tuple(self.cases[number] for number in kept)
        smaller.refusals = ()
        smaller._inputs = [self._inputs[number] for number in kept]
        smaller._again = [self._again[number] for number in kept]
        smaller._parameters = [self._parameters[number] for number in kept]
        smaller._cotangents = [self._cotangents[number] for number in kept]
        smaller._purposes = [self._purposes[number] for number in kept]
        smaller.__dict__["expected"] = [self.expected[number] for number in kept]
        return smaller

    def variants(
        self, number: int, inputs: Sequence[Mapping[str, Any]], parameters: Mapping[str, Tensor]
    ) -> Exam:
        """One case over and over, with these inputs in turn and these weights: what comes of it is looked at, not graded."""
        changed = self.only([number])
        count = len(inputs)
        changed.cases = tuple(replace(self.cases[number], layout={}, probe=None) for _ in inputs)
        changed._inputs = changed._again = [dict(one) for one in inputs]
        changed._parameters = [dict(parameters)] * count
        changed._cotangents = [{}] * count
        changed._purposes = [None] * count
        changed.__dict__["expected"] = [self.expected[number]] * count
        return changed

    def followed_by(self, other: Exam, purpose: Purpose) -> Exam:
        """These cases and then another exam's in one worker, which is asked something else of those: what comes of them is looked at, not graded."""
        both = self.only(range(len(self.cases)))
        both.cases += other.cases
        both._inputs += other._inputs
        both._again += other._again
        both._parameters += other._parameters
        both._cotangents += other._cotangents
        both._purposes += [purpose] * len(other.cases)
        both.__dict__["expected"] = self.expected + other.expected
        return both

    def altered(self, inputs: Change, parameters: Change) -> Exam:
        """The same cases with other inputs and weights; what is expected stays: what comes of it is looked at, not graded."""
        changed = self.only(range(len(self.cases)))
        changed._inputs = [dict(inputs(one)) for one in self._inputs]
        changed._parameters = [dict(parameters(one)) for one in self._parameters]
        return changed

    def given(self, number: int) -> dict[str, Any]:
        """All that goes into a case, by name."""
        return self._inputs[number]

    def content(self, name: str) -> Any:
        """What cases.py defines under this name, or None."""
        return self._content.get(name)

    @cached_property
    def _runs(self) -> tuple[list[Run], TensorTable]:
        table = TensorTable()
        called: set[str] = set()

        def is_new(case: Case) -> bool:
            """Whether no earlier case is called in this way: what is kept from a call may be used only where no gradients are recorded."""
            known, way = len(called), _way_of(case)
            called.add(way)
            return len(called) > known

        ways = _ways(self.cases, has_modes=self.challenge.kind == "module")
        runs = [
            Run(
                sizes=dict(case.sizes),
                init=dict(case.init),
                inputs=table.tree(inputs),
                again=table.tree(again),
                parameters={name: table.add(value) for name, value in parameters.items()},
                cotangents={name: table.add(value) for name, value in cotangents.items()},
                dtype=case.dtype,
                mode=case.mode,
                layout=dict(case.layout),
                differentiable=self.differentiable(number),
                probe=case.probe,
                purpose=self._purposes[number],
                counted=ways[number][0],
                ways=ways[number][1],
                once_more=is_new(case),
                random=case.dropout is not None,
            )
            for number, (case, inputs, again, parameters, cotangents) in enumerate(
                zip(
                    self.cases,
                    self._inputs,
                    self._again,
                    self._parameters,
                    self._cotangents,
                    strict=True,
                )
            )
        ]
        return runs, table

    @property
    def drive(self) -> Drive:
        """How an implementation is called in a case."""
        drive: Drive = self._content["drive"]
        return drive

    def differentiable(self, number: int) -> list[str]:
        """The inputs of a case to which gradients flow."""
        case = self.cases[number]
        if not self._cotangents[number]:
            return []
        return [
            name
            for name, tensor in leaves(self._inputs[number])
            if tensor.is_floating_point() and name not in case.constants
        ]

    def inputs(self, number: int) -> dict[str, Tensor]:
        """The tensors that go into a case, by name."""
        return dict(leaves(self._inputs[number]))

    @cached_property
    def largest(self) -> list[float]:
        """The largest number, by size, of all that goes into each case."""
        given = [
            [*self.inputs(number).values(), *self.parameters(number).values()]
            for number in range(len(self.cases))
        ]
        return [
            max(
                (
                    float(one.abs().nan_to_num(0.0, math.inf).max())
                    for one in some
                    if one.is_floating_point() and one.numel()
                ),
                default=0.0,
            )
            for some in given
        ]

    def parameters(self, number: int) -> dict[str, Tensor]:
        """The weights of a case, named as in the contract."""
        return self._parameters[number]

    @cached_property
    def expected(self) -> list[Expected]:
        """What the reference gives, for every case."""
        return [self._expect(number) for number in range(len(self.cases))]

    def _draw_parameters(self) -> list[dict[str, Tensor]]:
        if self.challenge.kind != "module":
            return [{} for _ in self.cases]
        draw = Draw(self.seed, _WEIGHTS)
        found: list[dict[str, Tensor]] = []
        for number, case in enumerate(self.cases):
            module = self._exact[number] = self._built(number, "float64")
            values: dict[str, Tensor] = {}
            for name, parameter in module.named_parameters():
                shape = tuple(parameter.shape)
                if name in case.parameters:
                    value = torch.as_tensor(case.parameters[name], dtype=torch.float64).expand(
                        shape
                    )
                elif len(shape) == 2:
                    value = draw.normal(*shape, scale=shape[1] ** -0.5)
                elif name.endswith("bias"):
                    value = draw.normal(*shape, scale=0.5)
                else:
                    value = 1 + draw.normal(*shape, scale=0.3)
                values[name] = value.to(DTYPES[case.dtype])
            if unknown := set(case.parameters) - set(values):
                raise PackError(
                    f"{self.cases_path}: case {case.name!r} sets {', '.join(unknown)}, which the reference lacks."
                )
            found.append(values)
        return found

    def _draw_cotangents(self) -> list[dict[str, Tensor]]:
        draw = Draw(self.seed, _RANDOM)
        return [
            {name: draw.normal(*case.output_shape(name)) for name in case.dims}
            if case.gradients and not case.probe
            else {}
            for case in self.cases
        ]

    def _expect(self, number: int) -> Expected:
        case = self.cases[number]
        reference = self._with_weights(
            number, self._exact.pop(number, None) or self._built(number, "float64")
        )
        lower = self._with_weights(number, self._built(number, lower_dtype(case.dtype)))
        # Gradients under dropout depend on what is dropped: `gradients_under` gives them.
        with_gradients = case.dropout is None
        given, lower_name = self._inputs[number], lower_dtype(case.dtype)
        exact, exact_gradients, plain = self._evaluate(
            number, reference, given, "float64", with_gradients=with_gradients
        )
        lowered, lowered_gradients, plain_lowered = self._evaluate(
            number, lower, given, lower_name, with_gradients=with_gradients
        )
        for name, value in exact.items():
            if tuple(value.shape) != case.output_shape(name):
                raise PackError(
                    f"{self.cases_path}: case {case.name!r} says {name} is {case.dims[name]} = {list(case.output_shape(name))}; "
                    f"the reference gives {list(value.shape)}."
                )
        outputs = _values(case, exact, lowered)
        again: dict[str, Value] = {}
        plain_again: dict[str, str] = {}
        plain_again_lowered: dict[str, str] = {}
        if not case.probe:
            exact_again, _, plain_again = self._evaluate(
                number, reference, self._again[number], "float64", with_gradients=False
            )
            lowered_again, _, plain_again_lowered = self._evaluate(
                number, lower, self._again[number], lower_dtype(case.dtype), with_gradients=False
            )
            again = _values(case, exact_again, lowered_again)
        for one, other in ((plain, plain_lowered), (plain_again, plain_again_lowered)):
            if one != other:
                raise PackError(
                    f"{self.cases_path}: case {case.name!r}: rounding decides; the reference gives {one} in float64, {other} in {case.dtype}."
                )
        return Expected(
            outputs,
            again,
            plain,
            plain_again,
            _values(case, exact_gradients, lowered_gradients),
            case.dtype,
        )

    def gradients_under(self, number: int, output: str, actual: Tensor) -> Expected | None:
        """Return what the reference gives if it drops the weights that a submission dropped.

        None if the case compares no gradients, or the reference drops nothing that has the shape of
        the weights.

        Args:
            number: of a case with `dropout`, from 0.
            output: the output that reads the weights out.
            actual: the submission's.
        """
        case = self.cases[number]
        if case.dropout is None or not self._cotangents[number]:
            return None
        weights = self.expected[number].outputs[output].value
        kept = kept_weights(case.dims[output], case.sizes, weights, actual)
        # Most submissions drop the same weights: the random seed is the same, and they draw once.
        key = (number, output, next(iter(kept.values())).numpy().tobytes())
        if key not in self._under:
            if len(self._under) >= _MOST_UNDER:
                self._under.pop(next(iter(self._under)))
            self._under[key] = self._gradients_with(number, kept)
        return self._under[key]

    def _gradients_with(self, number: int, kept: Mapping[str, Tensor]) -> Expected | None:
        """Return the reference's outputs and gradients in a case if it keeps these weights.

        None if the reference drops nothing of their shape.
        """
        case = self.cases[number]
        assert case.dropout is not None
        found: list[tuple[dict[str, Tensor], dict[str, Tensor]]] = []
        for dtype in ("float64", lower_dtype(case.dtype)):
            reference = self._with_weights(number, self._built(number, dtype)).train()
            with DropsAsSeen(kept, case.dropout) as mode:
                outputs, own, _ = self._evaluate(
                    number, reference, self._inputs[number], dtype, with_gradients=True
                )
            if mode.calls != 1:
                return None
            found.append((outputs, own))
        (outputs, exact), (outputs_lowered, lowered) = found
        return Expected(
            outputs=_values(case, outputs, outputs_lowered),
            again={},
            gradients=_values(case, exact, lowered),
            dtype=case.dtype,
        )

    def _built(self, number: int, dtype: str) -> Any:
        """What `drive` calls: the reference in this dtype, in eval mode, with weights of its own still."""
        case, target = self.cases[number], DTYPES[dtype]
        with self._blame(case), _default_dtype(target if dtype == "float64" else torch.float32):
            return build(
                self._reference,
                self.challenge.kind,
                self.challenge.entry,
                case.init,
                target,
                "eval",
            )

    def _with_weights(self, number: int, implementation: Any) -> Any:
        """The same with the weights of a case."""
        with torch.no_grad():
            for name, parameter in module_parameters(implementation).items():
                parameter.copy_(self._parameters[number][name])
        return implementation

    def _evaluate(
        self,
        number: int,
        implementation: Any,
        inputs: Mapping[str, Any],
        dtype: str,
        *,
        with_gradients: bool,
    ) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, str]]:
        """The reference's outputs and gradients, computed in this dtype; and its outputs that are no tensors, as text."""
        case = self.cases[number]
        target = DTYPES[dtype]
        wanted = self.differentiable(number) if with_gradients else []
        with_gradients = with_gradients and bool(self._cotangents[number])

        def prepare(name: str, tensor: Tensor) -> Tensor:
            if not tensor.is_floating_point():
                return tensor.clone()
            # Constants keep their own dtype, but for the float64 run, which rounds nothing.
            kept = name in case.constants and dtype != "float64"
            laid = lay_out(
                tensor.to(tensor.dtype if kept else target), case.layout.get(name.partition("[")[0])
            )
            return laid.requires_grad_(name in wanted)

        given = map_leaves(inputs, prepare)
        with (
            self._blame(case),
            _default_dtype(target if dtype == "float64" else torch.float32),
            torch.set_grad_enabled(with_gradients),
        ):
            outputs: dict[str, Any] = self.drive(implementation, Given(given, case.sizes))
            if outputs.keys() != case.dims.keys() | case.plain.keys():
                raise PackError(
                    f"{self.cases_path}: case {case.name!r} names {sorted([*case.dims, *case.plain])}, drive gives {sorted(outputs)}."
                )
            plain = {name: plain_value(outputs.pop(name)) for name in case.plain}
            if wrong := [name for name, (kind, _) in plain.items() if kind != case.plain[name]]:
                raise PackError(
                    f"{self.cases_path}: case {case.name!r}: {wrong[0]} of the reference is no {case.plain[wrong[0]]}."
                )
            found: dict[str, Tensor] = {}
            if with_gradients:
                wrt = {
                    name: tensor for name, tensor in leaves(given) if name in wanted
                } | module_parameters(implementation)
                if any(output.requires_grad for output in outputs.values()):
                    some = gradients(outputs, self._cotangents[number], wrt)
                    found = {
                        name: torch.zeros_like(wrt[name]) if value is None else value
                        for name, value in some.items()
                    }
        return (
            {name: output.detach() for name, output in outputs.items()},
            found,
            {name: text for name, (_, text) in plain.items()},
        )

    @contextmanager
    def _blame(self, case: Case) -> Iterator[None]:
        try:
            yield
        except (PackError, GraderError):
            raise
        except Exception as error:
            raise GraderError(
                f"The reference of {self.challenge.id} fails on case {case.name!r}: {type(error).__name__}: {error}. "
                "Report this; `attn-drill pack check` shows it as well."
            ) from error


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Constants that a reference makes (a table, a slope) are as exact as the run they are made for."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


_Ways = tuple[bool, list[tuple[bool, bool]]]


def _ways(cases: Sequence[Case], *, has_modes: bool) -> list[_Ways]:
    """Return for each case whether its first call is counted, and in which further ways it is: (training, gradients).

    The first call is made as declared, without gradients. Of a module's vectorised probes, one pair is counted so and
    with gradients in the other mode, the next pair in the two ways that are left: all four are seen at half the cost.
    A challenge with a single pair has all four of it.
    """
    pairs = sum(case.probe == "vectorised" for case in cases) // 2
    found: list[_Ways] = []
    vectorised = 0
    for number, case in enumerate(cases):
        training = case.mode == "train"
        usual = True, [(training, True)]
        if case.probe in (None, "held"):
            usual = True, []
        elif case.probe == "memory":  # each takes many operations: one of them tells of gradients
            usual = True, usual[1][: not any(other.probe == "memory" for other in cases[:number])]
        elif has_modes and case.probe == "vectorised":
            ways = [(not training, True)], [(training, True), (not training, False)]
            is_first = vectorised // 2 % 2 == 0
            vectorised += 1
            usual = (True, ways[0] + ways[1]) if pairs == 1 else (is_first, ways[not is_first])
        elif has_modes:
            usual = True, [(training, True), (not training, True)]
        found.append(usual)
    return found


def _way_of(case: Case) -> str:
    """What a case has in common with others but for sizes, dtype and values: mode, switches, which inputs there are and how many dims they have."""
    dims = [(name, tensor.dim()) for name, tensor in leaves(case.inputs)]
    switches = {
        name: value
        for name, value in case.init.items()
        if not isinstance(value, int) or isinstance(value, bool)
    }
    plain = {
        name: value
        for name, value in case.inputs.items()
        if not isinstance(value, Tensor | tuple | list)
    }
    return repr((case.mode, dims, switches, plain))


def _plain_values(inputs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What of the inputs is no tensor, and the shapes of what is."""
    found: list[tuple[str, Any]] = []
    for name, value in inputs.items():
        for one in value if isinstance(value, tuple | list) else (value,):
            found.append((name, tuple(one.shape) if isinstance(one, Tensor) else one))
    return found


def _rounded(case: Case, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs in the case's dtype; constants in float32."""

    def change(name: str, tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        return tensor.to(torch.float32 if name in case.constants else DTYPES[case.dtype])

    return map_leaves(inputs, change)


def _values(
    case: Case, exact: Mapping[str, Tensor], lowered: Mapping[str, Tensor]
) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in exact.items():
        lost = loss(value, lowered[name])
        if not math.isfinite(lost):  # nor is it where a value is not
            raise GraderError(
                f"The reference gives {name} that is not finite on case {case.name!r}. Report this with the seed."
            )
        dtype = (
            value.dtype
            if case.dtype == "float64" or not value.is_floating_point()
            else lowered[name].dtype
        )
        found[name] = Value(value, lost, str(dtype).removeprefix("torch."))
    return found
