"""Run an implementation through the cases of a request.

For each case: build the implementation, load the grader's weights, and make the calls that the
request lists. The worker does this with a submission. The grader does it with its own content, to
see how a known mistake behaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import groupby
from typing import Any, Protocol

import msgspec
import torch
from torch import Tensor, nn

from attn_drill.worker import layer_matching, weights
from attn_drill.worker.answer_facts import FactsRecorder, realistic_facts, unused_state
from attn_drill.worker.arguments import adapted, call_entry
from attn_drill.worker.execution import (
    Drive,
    Given,
    build,
    gradients,
    lay_out,
    leaves,
    map_leaves,
    module_parameters,
    overwrite,
)
from attn_drill.worker.guarded_call import GuardedCall
from attn_drill.worker.layer_matching import Assignment, Contract
from attn_drill.worker.meter import measured
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
    Step,
    cap,
    fill,
    name_of,
)
from attn_drill.worker.recorder import Recorder
from attn_drill.worker.returns import describe, plain_value

RECORDED = ("lines", "tensors", "gradients")  # observations
_seed = torch.default_generator.manual_seed  # the file may replace `torch.manual_seed`


class Table(Protocol):
    """A receiver of the tensors of a reply."""

    def add(self, tensor: Tensor) -> int:
        """Keep a copy of the tensor's values and return the tensor's id."""


class KeptTensors:
    """A table whose tensors stay in this process."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []

    def add(self, tensor: Tensor) -> int:
        """Keep a copy of the tensor's values and return the tensor's id."""
        self.tensors.append(tensor.detach().clone())
        return len(self.tensors) - 1


class Hooks:
    """The notifications of a case runner. This class ignores them. A worker overrides them."""

    def start_run(self, run_index: int) -> None:
        """Handle that a run is about to start."""

    def finish_runs(self, count: int) -> None:
        """Handle that the first `count` runs have complete results."""

    def mark_output(self, part: str) -> None:
        """Handle that output printed from now on belongs to another part.

        Args:
            part: `import`, the index of a run for its first call, or "" for other calls.
        """

    def leaves_choice(self) -> bool:
        """Return whether to make no calls if several assignments of layers fit."""
        return False

    def start_operation(self) -> None:
        """Handle that the realistic call starts an operation. An exception ends the call."""


class CaseRunner:
    """The runs of one file through all cases of a request.

    Args:
        table: receives the tensors of the reply.
        hooks: receives notifications about the progress.

    Attributes:
        reply: the results.
        runs: the results of the cases; `run_all` puts them into `reply`.
    """

    def __init__(
        self,
        request: Request,
        tensors: Sequence[Tensor],
        guarded: GuardedCall,
        table: Table,
        hooks: Hooks,
        rules: AbstractContextManager[object] | None = None,
    ) -> None:
        self.request, self.tensors, self.guarded = request, tensors, guarded
        self.table, self.hooks = table, hooks
        self.rules: AbstractContextManager[object] = rules or nullcontext()
        self.reply = Reply()
        self.runs = [RunReply() for _ in request.runs]
        self._recorders: dict[int, Recorder] = {}

    def run_all(self, namespace: dict[str, Any], drive: Drive) -> None:
        """Make every run of the request, then the calls that the submission must refuse.

        The results are in `reply`.

        Args:
            namespace: the names that the file defines, with their values.
        """
        self.reply.runs = self.runs
        drive = adapted(drive, self.request.entry, self.request.signatures)
        # Only adjacent runs with the same observation are built together: other runs must not see
        # attributes that these constructors set on the class.
        for _, run_indices in groupby(range(len(self.runs)), key=self._recorded):
            self._run_together(list(run_indices), namespace, drive)
        if self.request.realistic is not None:
            self._gather_realistic(self.request.realistic, namespace, drive)
        for index, refused in enumerate(self.request.refusals):
            self.hooks.start_run(len(self.request.runs) + index)
            self.reply.refusals.append(self._refuse(refused, namespace, drive))

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

    def _refuse(
        self, refused: RefusedCall, namespace: dict[str, Any], drive: Drive
    ) -> CallFailure | None:
        """Make a call that the submission must refuse; return its failure."""
        request = self.request
        arguments = {name: fill(value, self.tensors) for name, value in refused.arguments.items()}
        if refused.init is None:
            call = partial(
                call_entry, namespace, request.kind, refused.call, arguments, request.signatures
            )
            return self._guarded("construct", call)[1]
        init = refused.init

        def built() -> Any:
            names = request.kind, request.entry, init, torch.float32, "eval"
            return build(namespace, *names, request.signatures)

        implementation, failure = self.guarded.call("construct", built)
        if failure is not None:
            # The construction is right and must succeed, so its exception is no refusal.
            return msgspec.structs.replace(failure, type=f"{failure.type} in the constructor")
        given = Given(arguments, {})
        return self._guarded("forward", lambda: drive(implementation, given))[1]

    def _gather_realistic(self, run: Run, namespace: dict[str, Any], drive: Drive) -> None:
        """Store the facts about the realistic call."""
        self.hooks.start_run(len(self.request.runs))
        given = Given(laid_out(run, run.inputs, self.tensors), run.sizes)
        gathered, _ = self._guarded(
            "forward",
            lambda: realistic_facts(
                self.guarded.path,
                lambda: self._built(run, namespace),
                lambda implementation: drive(implementation, given),
                self.hooks.start_operation,
            ),
        )
        if gathered is not None:
            self.reply.realistic, self.reply.is_realistic_complete = gathered

    # Build the implementations and load their weights

    def _run_together(
        self, run_indices: Sequence[int], namespace: dict[str, Any], drive: Drive
    ) -> None:
        """Build all of these runs, then call them."""
        built = {run_index: self.build(run_index, namespace) for run_index in run_indices}
        contracts = {run_index: self._contract(run_index) for run_index in run_indices}
        assignments = self._assignments(built, contracts)
        if len(self.reply.assignments) > 1 and self.hooks.leaves_choice():
            return
        for run_index, implementation in built.items():
            self.hooks.finish_runs(run_index)
            if implementation is None:
                continue
            run, run_reply = self.request.runs[run_index], self.runs[run_index]
            contract, assignment = contracts[run_index], assignments.get(run_index)
            if isinstance(implementation, nn.Module):
                if assignment is None:
                    run_reply.unassigned = True
                    # The outputs mean nothing without the weights. The call only shows if the file
                    # uses the library's attention.
                    if run_index == 0:
                        self.hooks.start_run(run_index)
                        given = Given(laid_out(run, run.inputs, self.tensors), run.sizes)
                        self._guarded("forward", partial(drive, implementation, given))
                    continue
                if not run.initial:
                    weights.load(implementation, contract, assignment, self._weights_of(run))
            self.hooks.start_run(run_index)
            _seed(self.request.random_seed)  # so that a run alone repeats a run among others
            if self._recorded(run_index):
                self._record(run_index, implementation, drive)
            else:
                called = _Implementation(implementation, drive, contract, assignment)
                self._make_calls(run_index, called)

    def build(self, run_index: int, namespace: dict[str, Any]) -> Any:
        """Return the implementation of a run, with its own first weights.

        Returns:
            None if the file's code raises an exception.
        """
        run, run_reply = self.request.runs[run_index], self.runs[run_index]
        self.hooks.start_run(run_index)
        self.hooks.mark_output(str(run_index))
        lost: list[str] = []
        with self._recording(run_index):
            implementation, run_reply.failure = self.guarded.call(
                "construct", lambda: self._built(run, namespace, lost)
            )
        self.hooks.mark_output("")
        run_reply.lost_imaginary = [cap(name, 200) for name in lost[:50]]
        if run_reply.failure is None and isinstance(implementation, nn.Module):
            # The module may have its own methods for this.
            run_reply.failure = self.guarded.call(
                "construct", lambda: self._describe_parameters(run_reply, implementation)
            )[1]
        elif run_reply.failure is None and self.request.kind == "module":
            message = (
                f"{self.request.entry[0]}(…) gives {describe(implementation)}, "
                "which is not an nn.Module"
            )
            run_reply.failure = CallFailure("construct", "TypeError", message)
        return None if run_reply.failure else implementation

    def _describe_parameters(self, run_reply: RunReply, module: nn.Module) -> None:
        shapes, shared = weights.parameter_names(module)
        run_reply.parameters = {
            cap(name, 200): list(shape) for name, shape in list(shapes.items())[:200]
        }
        run_reply.shared = {
            cap(name, 200): cap(other, 200) for name, other in list(shared.items())[:200]
        }

    def _built(self, run: Run, namespace: dict[str, Any], lost: list[str] | None = None) -> Any:
        request, dtype = self.request, DTYPES[run.dtype]
        names = request.kind, request.entry, run.init, dtype, run.mode
        return build(namespace, *names, request.signatures, request.ties, lost)

    def _recording(self, run_index: int) -> AbstractContextManager[object]:
        """Return the recorder of a run; a context that does nothing if the run is not recorded."""
        kind = self._recorded(run_index)
        if not kind:
            return nullcontext()
        names, with_gradients = kind == "lines", kind == "gradients"
        recorder = Recorder(self.guarded.path, names=names, gradients=with_gradients)
        return self._recorders.setdefault(run_index, recorder)

    def _assignments(
        self, built: Mapping[int, Any], contracts: Mapping[int, Contract]
    ) -> dict[int, Assignment]:
        """Return the assignment of layers of each run that has one.

        This is the requested assignment, or the first that fits all cases. If layers are found by
        name, each case has its own assignment, because the number of parts may differ.
        """
        requested = {path: tuple(roles) for path, roles in self.request.assignment.items()}
        by_name = any(contract.is_by_name for contract in contracts.values())
        possible: dict[int, list[Assignment]] = {}
        for run_index, implementation in built.items():
            if not isinstance(implementation, nn.Module):
                continue
            contract, parameters = contracts[run_index], self.runs[run_index].parameters
            shapes = {name: tuple(shape) for name, shape in parameters.items()}
            # One case alone may have more assignments than the search returns, and the requested
            # assignment may not be among those.
            if requested and not by_name:
                found = [requested] * layer_matching.fits(contract, shapes, requested)
            else:
                found = layer_matching.assignments(contract, shapes)
            if found:
                possible[run_index] = found
        if not possible:
            return {}
        common, *others = possible.values()
        if by_name:
            common = common[:1]
        else:
            for other in others:
                common = [assignment for assignment in common if assignment in other] or common
        self.reply.assignments = [
            {path: list(roles) for path, roles in assignment.items()} for assignment in common
        ]
        self.reply.assignment = self.reply.assignments[0]
        return {
            run_index: found[0] if by_name else common[0] for run_index, found in possible.items()
        }

    def _contract(self, run_index: int) -> Contract:
        weights_by_name = self._weights_of(self.request.runs[run_index])
        return layer_matching.contract_of(
            {name: tuple(value.shape) for name, value in weights_by_name.items()}
        )

    def _weights_of(self, run: Run) -> dict[str, Tensor]:
        """Return the weights of a run, named as in the contract."""
        return {name: self.tensors[tensor_id] for name, tensor_id in run.parameters.items()}

    # Make the calls of one run

    def _make_calls(self, run_index: int, called: _Implementation) -> None:
        """Make the calls of one run, until one of them fails."""
        run, run_reply = self.request.runs[run_index], self.runs[run_index]
        given: dict[str, Any] = {}
        returned: dict[str, Tensor] = {}
        copies: dict[str, Tensor] = {}
        for place, call in enumerate(run.calls):
            self.hooks.mark_output("" if place else str(run_index))
            given = self._inputs(run, call, given)
            call_reply, outputs, failure = self._call(run_index, called, call, given)
            self.hooks.mark_output("")
            if failure is not None and place == 0:
                run_reply.failure = failure
                return
            call_reply.failure = call_reply.failure or failure
            # A submission may return its own buffer, which the next call overwrites.
            call_reply.overwritten = [
                name for name, copy in copies.items() if not _is_same(copy, returned[name])
            ]
            run_reply.calls.append(call_reply)
            if failure is not None:
                return
            memory = {tensor.untyped_storage().data_ptr() for _, tensor in leaves(given)}
            returned = {
                name: value
                for name, value in outputs.items()
                if is_sendable(value) and value.untyped_storage().data_ptr() not in memory
            }
            copies = {name: value.detach().clone() for name, value in returned.items()}

    def _inputs(self, run: Run, call: Call, before: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs of a call."""
        tree = run.inputs if call.values == "first" else run.second
        given = (
            self._written_into(run, before, tree)
            if call.is_in_same_memory
            else laid_out(run, tree, self.tensors)
        )
        if not call.gradients:
            return given
        return map_leaves(
            given, lambda name, tensor: tensor.requires_grad_(name in run.differentiable)
        )

    def _written_into(
        self, run: Run, given: dict[str, Any], tree: dict[str, Any]
    ) -> dict[str, Any]:
        """Write new values into the given tensors and return them.

        Returns:
            New tensors if the submission has changed a shape, or made a tensor unwritable.
        """
        pairs = list(
            zip(
                leaves(given),
                leaves({name: fill(value, self.tensors) for name, value in tree.items()}),
                strict=True,
            )
        )
        if any(tensor.shape != values.shape for (_, tensor), (_, values) in pairs):
            return laid_out(run, tree, self.tensors)
        try:
            for (_, tensor), (_, values) in pairs:
                if tensor.is_leaf:
                    tensor.requires_grad_(False)
                overwrite(tensor, values)
        except RuntimeError:
            return laid_out(run, tree, self.tensors)
        return given

    def _call(
        self, run_index: int, called: _Implementation, call: Call, given: dict[str, Any]
    ) -> tuple[CallReply, dict[str, Any], CallFailure | None]:
        """Make one call.

        Returns:
            The results, the outputs, and the failure of a call that has no outputs.
        """
        run = self.request.runs[run_index]
        call_reply = CallReply()
        phase = "second call" if self.runs[run_index].calls else "forward"
        before = {name: tensor.detach().clone() for name, tensor in leaves(given)}
        outputs, failure = self._outputs(run_index, called, call, given, phase)
        if failure is not None and call.gradients:
            # The gradients may be the reason. So the call is made again without them.
            failure = msgspec.structs.replace(failure, phase="forward with gradients")
            plain = msgspec.structs.replace(call, gradients=False)
            given = self._inputs(run, plain, {})
            outputs, plain_failure = self._outputs(run_index, called, plain, given, phase)
            if plain_failure is not None:
                return call_reply, {}, plain_failure
            call_reply.failure = failure
        elif failure is not None:
            return call_reply, {}, failure
        described, failure = self.guarded.call(phase, lambda: self._described(outputs))
        if failure is not None:
            return call_reply, {}, failure
        call_reply.outputs = described
        if call.gradients and call_reply.failure is None:
            self._take_gradients(run, call_reply, called, given, outputs)
        call_reply.changed = [
            name for name, tensor in leaves(given) if not _is_same(before[name], tensor)
        ]
        return call_reply, outputs, None

    def _outputs(
        self,
        run_index: int,
        called: _Implementation,
        call: Call,
        given: dict[str, Any],
        phase: str,
    ) -> tuple[Any, CallFailure | None]:
        """Return the outputs of a call, or its failure. Store the observation of the call."""
        run, run_reply = self.request.runs[run_index], self.runs[run_index]

        def made() -> Any:
            implementation = called.implementation
            if call.is_in_eval_mode:
                implementation.eval()
            with torch.set_grad_enabled(call.gradients):
                outputs = called.drive(implementation, Given(given, run.sizes))
            if call.is_in_eval_mode:
                implementation.train(run.mode == "train")
            return outputs

        # The rules slow every function of torch down. So they are active in the first call only.
        guarded = self.guarded.call if run_reply.calls else self._guarded
        if call.observe == "cost":
            counted, failure = guarded(phase, lambda: measured(made, self.guarded.path))
            if counted is None:
                return None, failure
            outputs, run_reply.cost = counted
            return outputs, None
        if call.observe == "facts":
            recorder = FactsRecorder(self.guarded.path)
            with recorder:
                outputs, failure = guarded(phase, made)
            run_reply.facts = recorder.facts()
            run_reply.facts.unused = unused_state(called.implementation, recorder.used)
            return outputs, failure
        return guarded(phase, made)

    def _take_gradients(
        self,
        run: Run,
        call_reply: CallReply,
        called: _Implementation,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
    ) -> None:
        """Make the backward pass and store the gradients, named as in the contract."""
        own = module_parameters(called.implementation)
        wrt = {
            f"input {name}": tensor for name, tensor in leaves(inputs) if name in run.differentiable
        }
        wrt |= {f"parameter {name}": parameter for name, parameter in own.items()}
        cotangents = {name: self.tensors[tensor_id] for name, tensor_id in run.cotangents.items()}
        found, call_reply.failure = self.guarded.call(
            "backward", lambda: gradients(outputs, cotangents, wrt)
        )
        if call_reply.failure is not None:
            return
        named = {
            name.removeprefix("input "): value
            for name, value in found.items()
            if name.startswith("input ")
        }
        if called.assignment is not None:
            shapes = {name: tuple(value.shape) for name, value in self._weights_of(run).items()}
            of_own = {name: found[f"parameter {name}"] for name in own}
            own_shapes = {name: tuple(value.shape) for name, value in own.items()}
            plain = layer_matching.plain_names(called.contract, own_shapes) or {}
            named |= weights.by_contract(called.contract, called.assignment, of_own, shapes, plain)
        call_reply.gradients = {
            name: self.table.add(value) for name, value in named.items() if is_sendable(value)
        }

    def _record(self, run_index: int, implementation: Any, drive: Drive) -> None:
        """Make one call and store its steps. Record gradients only if they are observed."""
        run, run_reply = self.request.runs[run_index], self.runs[run_index]
        with_gradients = self._recorded(run_index) == "gradients"
        call = msgspec.structs.replace(run.calls[0], gradients=with_gradients)
        given = self._inputs(run, call, {})
        own = {
            f"parameter {name}": value.detach()
            for name, value in module_parameters(implementation).items()
        }
        recorder = self._recorders[run_index]
        recorder.add_inputs(dict(leaves(given)) | own)
        self.hooks.mark_output(str(run_index))
        with torch.set_grad_enabled(with_gradients), recorder:
            outputs, run_reply.failure = self._guarded(
                "forward", lambda: drive(implementation, Given(given, run.sizes))
            )
        self.hooks.mark_output("")
        if run_reply.failure is None and with_gradients:
            recorder.mark_used(value for value in outputs.values() if isinstance(value, Tensor))
        for step in recorder.steps:
            value = step.value
            tensor_id = self.table.add(value) if value is not None and is_sendable(value) else -1
            run_reply.steps.append(
                Step(
                    list(step.lines),
                    cap(step.operation, 100),
                    tensor_id,
                    list(step.parents[:64]),
                    cap(step.name, 100),
                    step.written,
                    step.entries,
                    step.is_cut,
                    list(step.numbers[:8]),
                )
            )
        if run_reply.failure is None:
            described = self.guarded.call("forward", partial(self._described, outputs))[0]
            run_reply.calls = [CallReply(described or {})]
            run_reply.made_by = {
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


class _Implementation(msgspec.Struct, frozen=True):
    """An implementation, and the way to call it and to name its gradients."""

    implementation: Any
    drive: Drive
    contract: Contract
    assignment: Assignment | None


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
    given: dict[str, Any] = {name: fill(value, tensors) for name, value in tree.items()}
    return map_leaves(
        given, lambda name, tensor: lay_out(tensor, run.layout.get(name.partition("[")[0]))
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
