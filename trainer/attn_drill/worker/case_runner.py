"""Run an implementation through the cases of a request.

For each case: build the implementation, load the grader's weights, and make the calls that the
request lists. The worker does this with a submission. The grader does it with its own content, to
see how a known mistake behaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from attn_drill.worker import layer_matching
from attn_drill.worker._observers import Recorder, measured
from attn_drill.worker.answer_facts import FactsRecorder, realistic_facts, unused_state
from attn_drill.worker.arguments import adapted, call_entry
from attn_drill.worker.execution import (
    Drive,
    Given,
    GuardedCall,
    build,
    gradients,
    lay_out,
    leaves,
    map_leaves,
    module_parameters,
    overwrite,
)
from attn_drill.worker.layer_matching import Assignment, Contract
from attn_drill.worker.protocol import (
    DTYPES,
    MOST_DIMS,
    MOST_TENSOR_BYTES,
    Call,
    CallFailure,
    CallReply,
    RefusedCall,
    Reply,
    Request,
    Returned,
    Run,
    RunReply,
    TensorTable,
    cap,
    fill_all,
    name_of,
)
from attn_drill.worker.returns import describe, plain_value

RECORDED = ("lines", "tensors", "gradients")
_seed = torch.default_generator.manual_seed  # the file may replace `torch.manual_seed`


class KeptTensors:
    """A table of tensors that stay in this process."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []

    def add(self, tensor: Tensor) -> int:
        """Keep a copy of the tensor's values and return the tensor's id."""
        self.tensors.append(tensor.detach().clone())
        return len(self.tensors) - 1


class Hooks:
    """The notifications of a case runner. This class ignores them. A worker overrides them."""

    # True to make no calls if several assignments of layers fit.
    leaves_choice = False

    def start_run(self, run_index: int) -> None:
        """Handle that a run is about to start."""

    def finish_runs(self, count: int) -> None:
        """Handle that the first `count` runs have complete results."""

    def mark_output(self, part: str) -> None:
        """Handle that output printed from now on belongs to another part.

        Args:
            part: `import`, the index of a run for its first call, or "" for other calls.
        """

    def start_operation(self) -> None:
        """Handle that the realistic call starts an operation. An exception ends the call."""


@dataclass
class _Case:
    """A run whose implementation has been built."""

    index: int
    run: Run
    reply: RunReply
    implementation: Any
    contract: Contract
    recorder: Recorder | None  # of a recorded run
    assignment: Assignment | None = None  # None if none fits, or for a function

    @property
    def is_module(self) -> bool:
        return isinstance(self.implementation, nn.Module)


class CaseRunner:
    """The runs of one file through all cases of a request.

    Args:
        table: receives the tensors of the reply.
        hooks: receives notifications about the progress.
        rules: active while the file's code runs in a first call.

    Attributes:
        reply: the results.
        runs: the results of the cases; `run_all` puts them into `reply`.
    """

    def __init__(
        self,
        request: Request,
        tensors: Sequence[Tensor],
        guarded: GuardedCall,
        table: TensorTable | KeptTensors,
        hooks: Hooks,
        rules: AbstractContextManager[object] | None = None,
    ) -> None:
        self.request, self.tensors, self.guarded = request, tensors, guarded
        self.table, self.hooks = table, hooks
        self.rules: AbstractContextManager[object] = rules or nullcontext()
        self.reply = Reply()
        self.runs = [RunReply() for _ in request.runs]

    def run_all(self, namespace: dict[str, Any], drive: Drive) -> None:
        """Make every run of the request, then the calls that the submission must refuse.

        The results are in `reply`.

        Args:
            namespace: the names that the file defines, with their values.
        """
        self.reply.runs = self.runs
        self._namespace = namespace
        self._drive = adapted(drive, self.request.entry, self.request.signatures)
        # Only adjacent runs with the same observation are built together: other runs must not see
        # attributes that these constructors set on the class.
        for _, run_indices in groupby(range(len(self.runs)), key=self._recorded):
            self._run_together(list(run_indices))
        if self.request.realistic is not None:
            self._gather_realistic(self.request.realistic)
        for index, refused in enumerate(self.request.refusals):
            self.hooks.start_run(len(self.request.runs) + index)
            self.reply.refusals.append(self._refuse(refused))

    def _guarded(self, phase: str, action: Callable[[], Any]) -> tuple[Any, CallFailure | None]:
        """Run code of the file under the rules; return its result, or its failure."""

        def under_the_rules() -> Any:
            with self.rules:
                return action()

        refused = len(self.reply.not_allowed)
        result, failure = self.guarded.call(phase, under_the_rules)
        if failure is not None and len(self.reply.not_allowed) > refused:
            # TorchScript, for example, makes another exception of the refusal.
            failure = msgspec.structs.replace(failure, type="NotAllowedError")
        return result, failure

    def _recorded(self, run_index: int) -> str:
        """Return the kind of record of a run, or "" if the run is not recorded."""
        observe = self.request.runs[run_index].calls[0].observe
        return observe if observe in RECORDED else ""

    def _refuse(self, refused: RefusedCall) -> CallFailure | None:
        """Make a call that the submission must refuse; return its failure."""
        request, namespace = self.request, self._namespace
        arguments = fill_all(refused.arguments, self.tensors)
        if refused.init is None:
            call = partial(
                call_entry, namespace, request.kind, refused.call, arguments, request.signatures
            )
            return self._guarded("construct", call)[1]
        names = request.kind, request.entry, refused.init, torch.float32, "eval"
        implementation, failure = self.guarded.call(
            "construct", lambda: build(namespace, *names, request.signatures)
        )
        if failure is not None:
            # The construction is right and must succeed, so its exception is no refusal.
            return msgspec.structs.replace(failure, type=f"{failure.type} in the constructor")
        inputs = Given(arguments, {})
        return self._guarded("forward", lambda: self._drive(implementation, inputs))[1]

    def _gather_realistic(self, run: Run) -> None:
        """Store the facts about the realistic call."""
        self.hooks.start_run(len(self.request.runs))
        inputs = Given(laid_out(run, run.inputs, self.tensors), run.sizes)
        gathered, _ = self._guarded(
            "forward",
            lambda: realistic_facts(
                self.guarded.path,
                lambda: self._build(run, []),
                lambda implementation: self._drive(implementation, inputs),
                self.hooks.start_operation,
            ),
        )
        if gathered is not None:
            self.reply.realistic, self.reply.is_realistic_complete = gathered

    # Build the implementations and load their weights

    def _run_together(self, run_indices: Sequence[int]) -> None:
        """Build all of these runs, then call them."""
        cases = [case for index in run_indices if (case := self._built_case(index)) is not None]
        self._assign([case for case in cases if case.is_module])
        if len(self.reply.assignments) > 1 and self.hooks.leaves_choice:
            return
        for case in cases:
            self.hooks.finish_runs(case.index)
            if case.is_module and case.assignment is None:
                case.reply.unassigned = True
                # The outputs mean nothing without the weights. The call only shows if the file
                # uses the library's attention.
                if case.index == 0:
                    self.hooks.start_run(0)
                    inputs = laid_out(case.run, case.run.inputs, self.tensors)
                    self._guarded("forward", partial(self._forward, case, inputs))
                continue
            if case.assignment is not None and not case.run.initial:
                values = self._tensors_of(case.run.parameters)
                layer_matching.load_weights(
                    case.implementation, case.contract, case.assignment, values
                )
            self.hooks.start_run(case.index)
            _seed(self.request.random_seed)  # a run alone repeats a run among others
            if case.recorder is None:
                self._make_calls(case)
            else:
                self._record(case, case.recorder)

    def _built_case(self, run_index: int) -> _Case | None:
        """Build the implementation of a run, with its own first weights.

        Returns:
            None if the file's code raises an exception.
        """
        run, reply = self.request.runs[run_index], self.runs[run_index]
        recorder: Recorder | None = None
        if kind := self._recorded(run_index):
            names, with_gradients = kind == "lines", kind == "gradients"
            recorder = Recorder(self.guarded.path, names=names, gradients=with_gradients)
        self.hooks.start_run(run_index)
        self.hooks.mark_output(str(run_index))
        lost: list[str] = []
        with recorder or nullcontext():
            implementation, reply.failure = self.guarded.call(
                "construct", lambda: self._build(run, lost)
            )
        self.hooks.mark_output("")
        reply.lost_imaginary = [cap(name, 200) for name in lost[:50]]
        if reply.failure is not None:
            return None
        if isinstance(implementation, nn.Module):
            # The module may have its own methods for this.
            described, reply.failure = self.guarded.call(
                "construct", lambda: _described_parameters(implementation)
            )
            reply.parameters, reply.shared = described or ({}, {})
        elif self.request.kind == "module":
            message = (
                f"{self.request.entry[0]}(…) gives {describe(implementation)}, "
                "which is not an nn.Module"
            )
            reply.failure = CallFailure("construct", "TypeError", message)
        if reply.failure is not None:
            return None
        values = self._tensors_of(run.parameters)
        contract = layer_matching.contract_of(layer_matching.shapes_of(values))
        return _Case(run_index, run, reply, implementation, contract, recorder)

    def _build(self, run: Run, lost: list[str]) -> Any:
        request = self.request
        names = request.kind, request.entry, run.init, DTYPES[run.dtype], run.mode
        return build(self._namespace, *names, request.signatures, request.ties, lost)

    def _assign(self, cases: Sequence[_Case]) -> None:
        """Give each case of a module its assignment of layers, if there is one.

        This is the requested assignment, or the first that fits all cases. If layers are found by
        name, each case has its own assignment, because the number of parts may differ.
        """
        requested = {path: tuple(roles) for path, roles in self.request.assignment.items()}
        by_name = any(case.contract.is_by_name for case in cases)
        common: list[Assignment] = []
        assigned: list[_Case] = []
        for case in cases:
            shapes = {name: tuple(shape) for name, shape in case.reply.parameters.items()}
            # One case alone may have more assignments than the search returns, and the requested
            # assignment may not be among those.
            if requested and not by_name:
                possible = [requested] * layer_matching.fits(case.contract, shapes, requested)
            else:
                possible = layer_matching.assignments(case.contract, shapes)
            if possible:
                case.assignment = possible[0]
                assigned.append(case)
                common = [each for each in common if each in possible] or common or possible
        if by_name:
            common = common[:1]
        else:
            for case in assigned:
                case.assignment = common[0]
        if common:
            self.reply.assignments = [
                {path: list(roles) for path, roles in assignment.items()} for assignment in common
            ]
            self.reply.assignment = self.reply.assignments[0]

    def _tensors_of(self, ids: dict[str, int]) -> dict[str, Tensor]:
        return {name: self.tensors[tensor_id] for name, tensor_id in ids.items()}

    # Make the calls of one run

    def _make_calls(self, case: _Case) -> None:
        """Make the calls of one run, until one of them fails."""
        inputs: dict[str, Any] = {}
        returned: dict[str, Tensor] = {}
        for place, call in enumerate(case.run.calls):
            copies = {name: value.detach().clone() for name, value in returned.items()}
            self.hooks.mark_output("" if place else str(case.index))
            inputs = self._inputs(case.run, call, inputs)
            call_reply, outputs, failure = self._call(case, call, inputs)
            self.hooks.mark_output("")
            if failure is not None and place == 0:
                case.reply.failure = failure
                return
            call_reply.failure = call_reply.failure or failure
            # A submission may return its own buffer, which the next call overwrites.
            call_reply.overwritten = [
                name for name, copy in copies.items() if not _is_same(copy, returned[name])
            ]
            case.reply.calls.append(call_reply)
            if failure is not None:
                return
            memory = {tensor.untyped_storage().data_ptr() for _, tensor in leaves(inputs)}
            returned = {
                name: value
                for name, value in outputs.items()
                if is_sendable(value) and value.untyped_storage().data_ptr() not in memory
            }

    def _inputs(self, run: Run, call: Call, before: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs of a call, in the tensors of the call before if `call` says so."""
        tree = run.inputs if call.values == "first" else run.second
        inputs = before
        if not call.is_in_same_memory or not self._write_into(before, tree):
            inputs = laid_out(run, tree, self.tensors)
        if not call.gradients:
            return inputs
        return map_leaves(
            inputs, lambda name, tensor: tensor.requires_grad_(name in run.differentiable)
        )

    def _write_into(self, inputs: dict[str, Any], tree: dict[str, Any]) -> bool:
        """Write new values into the given tensors.

        Return False if the submission has changed a shape, or made a tensor unwritable.
        """
        pairs = list(zip(leaves(inputs), leaves(fill_all(tree, self.tensors)), strict=True))
        if any(tensor.shape != values.shape for (_, tensor), (_, values) in pairs):
            return False
        try:
            for (_, tensor), (_, values) in pairs:
                if tensor.is_leaf:
                    tensor.requires_grad_(False)
                overwrite(tensor, values)
        except RuntimeError:
            return False
        return True

    def _call(
        self, case: _Case, call: Call, inputs: dict[str, Any]
    ) -> tuple[CallReply, dict[str, Any], CallFailure | None]:
        """Make one call.

        Returns:
            The results, the outputs, and the failure of a call that has no outputs.
        """
        call_reply = CallReply()
        phase = "second call" if case.reply.calls else "forward"
        before = {name: tensor.detach().clone() for name, tensor in leaves(inputs)}
        outputs, failure = self._outputs(case, call, inputs, phase)
        if failure is not None and call.gradients:
            # The gradients may be the reason. So the call is made again without them.
            call_reply.failure = msgspec.structs.replace(failure, phase="forward with gradients")
            plain = msgspec.structs.replace(call, gradients=False)
            inputs = self._inputs(case.run, plain, {})
            outputs, failure = self._outputs(case, plain, inputs, phase)
        if failure is None:
            described, failure = self.guarded.call(phase, lambda: self._described(outputs))
        if failure is not None:
            return CallReply(), {}, failure
        call_reply.outputs = described
        if call.gradients and call_reply.failure is None:
            self._take_gradients(case, call_reply, inputs, outputs)
        call_reply.changed = [
            name for name, tensor in leaves(inputs) if not _is_same(before[name], tensor)
        ]
        return call_reply, outputs, None

    def _forward(self, case: _Case, inputs: dict[str, Any]) -> Any:
        """Call the implementation of a case and return its outputs."""
        return self._drive(case.implementation, Given(inputs, case.run.sizes))

    def _outputs(
        self, case: _Case, call: Call, inputs: dict[str, Any], phase: str
    ) -> tuple[Any, CallFailure | None]:
        """Return the outputs of a call, or its failure. Store the observation of the call."""

        def produce() -> Any:
            if call.is_in_eval_mode:
                case.implementation.eval()
            _multiply_weights(case, call.weights)
            with torch.set_grad_enabled(call.gradients):
                outputs = self._forward(case, inputs)
            _multiply_weights(case, 1 / call.weights)
            if call.is_in_eval_mode:
                case.implementation.train(case.run.mode == "train")
            return outputs

        # The rules slow every function of torch down. So they are active in the first call only.
        guarded = self.guarded.call if case.reply.calls else self._guarded
        if call.observe == "cost":
            counted, failure = guarded(phase, lambda: measured(produce, self.guarded.path))
            if counted is None:
                return None, failure
            outputs, case.reply.cost = counted
            return outputs, None
        if call.observe == "facts":
            recorder = FactsRecorder(self.guarded.path)
            with recorder:
                outputs, failure = guarded(phase, produce)
            case.reply.facts = recorder.facts()
            case.reply.facts.unused = unused_state(case.implementation, recorder.used)
            return outputs, failure
        return guarded(phase, produce)

    def _take_gradients(
        self,
        case: _Case,
        call_reply: CallReply,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
    ) -> None:
        """Make the backward pass and store the gradients, named as in the contract."""
        run, parameters = case.run, module_parameters(case.implementation)
        wanted = {name: tensor for name, tensor in leaves(inputs) if name in run.differentiable}
        cotangents = self._tensors_of(run.cotangents)
        computed, call_reply.failure = self.guarded.call(
            "backward", lambda: gradients(outputs, cotangents, wanted | parameters)
        )
        if call_reply.failure is not None:
            return
        by_name = {name: computed[name] for name in wanted}
        if case.assignment is not None:
            by_name |= layer_matching.gradients_by_contract(
                case.contract,
                case.assignment,
                computed,
                self._tensors_of(run.parameters),
                parameters,
            )
        call_reply.gradients = {
            name: self.table.add(value) for name, value in by_name.items() if is_sendable(value)
        }

    def _record(self, case: _Case, recorder: Recorder) -> None:
        """Make one call and store its steps. Record gradients only if they are observed."""
        with_gradients = case.run.calls[0].observe == "gradients"
        call = msgspec.structs.replace(case.run.calls[0], gradients=with_gradients)
        inputs = self._inputs(case.run, call, {})
        parameters = module_parameters(case.implementation).items()
        recorded = dict(leaves(inputs))
        recorded |= {f"parameter {name}": value.detach() for name, value in parameters}
        recorder.add_inputs(recorded)
        self.hooks.mark_output(str(case.index))
        with torch.set_grad_enabled(with_gradients), recorder:
            outputs, failure = self._guarded("forward", lambda: self._forward(case, inputs))
        self.hooks.mark_output("")
        case.reply.failure = failure
        if failure is None and with_gradients:
            recorder.mark_used(value for value in outputs.values() if isinstance(value, Tensor))
        for step, value in zip(recorder.steps, recorder.values, strict=True):
            if value is not None and is_sendable(value):
                step.tensor_id = self.table.add(value)
        case.reply.steps = recorder.steps
        if failure is None:
            described = self.guarded.call("forward", partial(self._described, outputs))[0]
            case.reply.calls = [CallReply(described or {})]
            case.reply.made_by = {
                name: recorder.step_of(value)
                for name, value in outputs.items()
                if isinstance(value, Tensor)
            }

    def _described(self, outputs: Any) -> dict[str, Returned]:
        """Return the outputs of `drive` in words and tensor ids."""
        described: dict[str, Returned] = {}
        for name, value in outputs.items():
            if not isinstance(value, Tensor):
                plain, text = plain_value(value)
                described[name] = Returned(cap(describe(value)), plain=plain, text=cap(text, 200))
                continue
            if (oddity := _oddity(value)) is not None:
                described[name] = Returned(oddity)
                continue
            described[name] = Returned(
                "a tensor",
                list(value.shape),
                name_of(value.dtype),
                value.device.type,
                self.table.add(value) if is_sendable(value) else -1,
            )
        return described


def _multiply_weights(case: _Case, factor: float) -> None:
    """Multiply all weights in training mode, as a step of an optimizer changes them."""
    if factor != 1.0:
        case.implementation.train()
        with torch.no_grad():
            for weight in module_parameters(case.implementation).values():
                weight.mul_(factor)
        case.implementation.train(case.run.mode == "train")


def _described_parameters(module: nn.Module) -> tuple[dict[str, list[int]], dict[str, str]]:
    """Return the shapes of parameters, and the names that share a parameter, for a reply."""
    shapes, shared = layer_matching.parameter_names(module)
    capped = {cap(name, 200): list(shape) for name, shape in list(shapes.items())[:200]}
    names = {cap(name, 200): cap(other, 200) for name, other in list(shared.items())[:200]}
    return capped, names


def _is_same(value: Any, other: Any) -> bool:
    """Return if two results have the same entries. NaN equals NaN."""
    if not (is_sendable(value) and is_sendable(other)):
        return False
    if value.shape != other.shape or value.dtype != other.dtype:
        return False
    value, other = value.detach(), other.detach()
    return torch.equal(value, other) or bool(
        ((value == other) | (value.isnan() & other.isnan())).all()
    )


def laid_out(run: Run, tree: dict[str, Any], tensors: Sequence[Tensor]) -> dict[str, Any]:
    """Return inputs of a run in new memory, in the layout of the run.

    Args:
        run: the run, which names the layouts.
        tree: the inputs, with {"tensor": tensor_id} in place of tensors.
    """
    return map_leaves(
        fill_all(tree, tensors),
        lambda name, tensor: lay_out(tensor, run.layout.get(name.partition("[")[0])),
    )


def _oddity(value: Tensor) -> str | None:
    """Return in words why a tensor is not an ordinary tensor; None if it is ordinary."""
    if value.is_nested:
        return "a nested tensor"
    if value.layout is not torch.strided:
        return f"a tensor of layout {value.layout}"
    if value.is_quantized:
        return "a quantized tensor"
    return f"a tensor of {value.dim()} dims" if value.dim() > MOST_DIMS else None


def is_sendable(value: Any) -> bool:
    """Return if a reply can hold a value: an ordinary tensor that is not too large."""
    return (
        isinstance(value, Tensor)
        and _oddity(value) is None
        and value.device.type == "cpu"
        and name_of(value.dtype) in DTYPES
        and value.numel() * value.element_size() <= MOST_TENSOR_BYTES
    )
