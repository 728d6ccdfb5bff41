"""Run an implementation through the cases of a request.

For each case: build the implementation, load the grader's weights, call it, compute its gradients,
and call it again. The worker does this with a submission. The grader does it with its own content,
to see how a known mistake behaves.
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

from trainer.worker import layer_matching, weights
from trainer.worker.answer_facts import FactsRecorder, realistic_facts, unused_state
from trainer.worker.arguments import adapted, call_entry
from trainer.worker.counters import observe, observe_largest, observe_memory
from trainer.worker.execution import (
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
from trainer.worker.forbidden_ops import without_autograd
from trainer.worker.guarded_call import GuardedCall
from trainer.worker.protocol import (
    DTYPES,
    MOST_DIMS,
    MOST_TENSOR_BYTES,
    CallFailure,
    Counts,
    Purpose,
    RefusedCall,
    Reply,
    Request,
    Returned,
    Run,
    RunReply,
    Step,
    TriedAssignments,
    cap,
    fill,
    name_of,
)
from trainer.worker.recorder import Recorder
from trainer.worker.returns import describe, plain_value
from trainer.worker.tracked_numbers import TrackedNumber

RECORDED = ("lines", "tensors", "gradients")  # purposes
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

    def offer_assignments(self, try_all: Callable[[], TriedAssignments | None]) -> None:
        """Handle that several assignments of layers fit.

        Args:
            try_all: runs one case under all assignments; None if no case can be used.
        """

    def mark_output(self, part: str) -> None:
        """Handle that output printed from now on belongs to another part.

        Args:
            part: `import`, the index of a run for its first call, or "" for other calls.
        """

    def send_counts(self, run_index: int, counts: Counts) -> None:
        """Handle the counts of one call of a run."""

    def start_operation(self) -> None:
        """Handle that the realistic call starts an operation. An exception ends the call."""

    def await_measurement(self) -> None:
        """Handle that a run whose memory is measured is ready for its call."""

    def import_again(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """Return the namespace for a counted run: a new import of the file, or the given one."""
        return namespace


class CaseRunner:
    """The runs of one file through all cases of a request.

    Attributes:
        request: the request.
        tensors: the tensors of the request.
        guarded: calls the code of the file.
        table: receives the tensors of the reply.
        hooks: receives notifications about the progress.
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
    ) -> None:
        self.request, self.tensors, self.guarded = request, tensors, guarded
        self.table, self.hooks = table, hooks
        self.reply = Reply()
        self.runs = [RunReply() for _ in request.runs]
        # True if a call with gradients failed, or returned other values than the call without.
        self._gradients_matter = False
        self._recorders: dict[int, Recorder] = {}

    def run_all(self, namespace: dict[str, Any], drive: Drive) -> None:
        """Make every run of the request, then the calls that the submission must refuse.

        The results are in `reply`.

        Args:
            namespace: the names that the file defines, with their values.
            drive: calls an implementation.
        """
        self.reply.runs = self.runs
        drive = adapted(drive, self.request.entry, self.request.signatures)
        # Only adjacent runs of the same purpose are built together: runs of another purpose must
        # not see attributes that these constructors set on the class.
        for _, run_indices in groupby(
            range(len(self.runs)), key=lambda run_index: self.request.runs[run_index].purpose
        ):
            self._run_together(list(run_indices), namespace, drive)
        if self.request.realistic is not None:
            self._gather_realistic(self.request.realistic, namespace, drive)
        for index, refused in enumerate(self.request.refusals):
            self.hooks.start_run(len(self.request.runs) + index)
            self.reply.refusals.append(self._refuse(refused, namespace, drive))

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
            return self.guarded.call("construct", call)[1]
        init = refused.init

        def built() -> Any:
            names = request.kind, request.entry, init, torch.float32, "eval"
            return build(namespace, *names, request.signatures)

        implementation, failure = self.guarded.call("construct", built)
        if failure is not None:
            # The construction is right and must succeed, so its exception is no refusal.
            return msgspec.structs.replace(failure, type=f"{failure.type} in the constructor")
        given = Given(arguments, {})
        return self.guarded.call("forward", lambda: drive(implementation, given))[1]

    def _gather_realistic(self, run: Run, namespace: dict[str, Any], drive: Drive) -> None:
        """Store the facts about the realistic call."""
        self.hooks.start_run(len(self.request.runs))
        given = Given(laid_out(run, run.inputs, self.tensors), run.sizes)
        gathered, _ = self.guarded.call(
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

    def _run_together(
        self, run_indices: Sequence[int], namespace: dict[str, Any], drive: Drive
    ) -> None:
        """Build all of these runs, then call them."""
        built = {run_index: self.build(run_index, namespace) for run_index in run_indices}
        contracts = {
            run_index: self._contract(self.request.runs[run_index]) for run_index in run_indices
        }
        by_name = any(contract.is_by_name for contract in contracts.values())
        chosen = self._choose_assignment(built, contracts, by_name=by_name)
        if len(self.reply.assignments) > 1:
            self.hooks.offer_assignments(lambda: self._try_all(namespace, built, contracts, drive))
        for run_index, implementation in built.items():
            self.hooks.finish_runs(run_index)
            if implementation is None:
                continue
            run, run_reply = self.request.runs[run_index], self.runs[run_index]
            contract = contracts[run_index]
            own = self._named_assignment(run_index, contract) if by_name else chosen
            if isinstance(implementation, nn.Module):
                if own is None or run_reply.unassigned:
                    run_reply.unassigned = True
                    # The outputs mean nothing without the weights. The call only shows if the file
                    # uses the library's attention.
                    if run_index == 0:
                        self.guarded.call(
                            "forward",
                            partial(
                                drive,
                                implementation,
                                Given(self._fresh_inputs(run, run.inputs), run.sizes),
                            ),
                        )
                    continue
                if not run.initial:
                    weights.load(implementation, contract, own, self._weights_of(run))
            self.hooks.start_run(run_index)
            _seed(self.request.random_seed)  # so that a run alone repeats a run among others
            self._run(run_index, implementation, drive, contract, own)

    def build(self, run_index: int, namespace: dict[str, Any]) -> Any:
        """Return the implementation of a run, with its own first weights.

        Returns:
            None if the file's code raises an exception.
        """
        run = self.request.runs[run_index]
        self.hooks.start_run(run_index)
        if run.probe:
            namespace = self.hooks.import_again(namespace)
        self.hooks.mark_output(str(run_index))
        lost: list[str] = []
        with self._recording(run_index):
            implementation, failure = self.guarded.call(
                "construct", lambda: self._built(run, namespace, lost)
            )
        self.hooks.mark_output("")
        run_reply = self.runs[run_index]
        run_reply.failure = failure
        run_reply.lost_imaginary = [cap(name, 200) for name in lost[:50]]
        if failure is None and isinstance(implementation, nn.Module):
            lazy, failure = self.guarded.call(
                "construct", lambda: weights.lazy_layers(implementation)
            )
            run_reply.lazy = {
                cap(path, 200): cap(kind, 200) for path, kind in list((lazy or {}).items())[:50]
            }
            names: Any = None
            if failure is None:
                names, failure = self.guarded.call(
                    "construct", lambda: weights.parameter_names(implementation)
                )
            if failure is not None:
                run_reply.failure = failure
                return None
            shapes, shared = names
            run_reply.parameters = {
                cap(name, 200): list(shape) for name, shape in list(shapes.items())[:200]
            }
            run_reply.shared = {
                cap(name, 200): cap(other, 200) for name, other in list(shared.items())[:200]
            }
        elif failure is None and self.request.kind == "module":
            run_reply.failure = CallFailure(
                "construct",
                "TypeError",
                f"{self.request.entry[0]}(…) gives {describe(implementation)}, "
                "which is not an nn.Module",
            )
            return None
        return None if failure else implementation

    def _built(self, run: Run, namespace: dict[str, Any], lost: list[str] | None = None) -> Any:
        request = self.request
        return build(
            namespace,
            request.kind,
            request.entry,
            run.init,
            DTYPES[run.dtype],
            run.mode,
            request.signatures,
            lost,
        )

    def _recording(self, run_index: int) -> AbstractContextManager[object]:
        """Return the recorder of a run; a context that does nothing if the run is not recorded."""
        purpose = self._purpose_of(self.request.runs[run_index])
        if purpose not in RECORDED:
            return nullcontext()
        return self._recorders.setdefault(
            run_index,
            Recorder(self.guarded.path, names=purpose == "lines", gradients=purpose == "gradients"),
        )

    def _purpose_of(self, run: Run) -> Purpose:
        return run.purpose or self.request.purpose

    def _named_assignment(
        self, run_index: int, contract: layer_matching.Contract
    ) -> layer_matching.Assignment | None:
        """Return the assignment of a run whose layers are found by name; None if there is none."""
        shapes = {name: tuple(shape) for name, shape in self.runs[run_index].parameters.items()}
        found = layer_matching.assignments(contract, shapes)
        return found[0] if found else None

    def _choose_assignment(
        self,
        built: Mapping[int, Any],
        contracts: Mapping[int, layer_matching.Contract],
        *,
        by_name: bool,
    ) -> layer_matching.Assignment | None:
        """Return the requested assignment of layers, or the first that fits all cases.

        Args:
            built: the implementations by the indices of their runs.
            contracts: the contracts by the indices of their runs.
            by_name: True if layers are found by name. Then each case has its own assignment,
                because the number of parts may differ, and that of the first case is returned.

        Returns:
            None if no case has a fitting assignment.
        """
        requested = {path: tuple(roles) for path, roles in self.request.assignment.items()}
        common: list[layer_matching.Assignment] | None = [requested] if requested else None
        for run_index, implementation in built.items():
            if not isinstance(implementation, nn.Module):
                continue
            contract, run_reply = contracts[run_index], self.runs[run_index]
            shapes = {name: tuple(shape) for name, shape in run_reply.parameters.items()}
            if run_reply.lazy:
                run_reply.unassigned = True
                continue
            if by_name:
                named = self._named_assignment(run_index, contract)
                run_reply.unassigned = named is None
                common = common or ([named] if named else None)
                continue
            # The requested assignment fits all cases, but one case alone may have more assignments
            # than the search returns.
            possible = (
                [requested] * layer_matching.fits(contract, shapes, requested)
                if requested
                else layer_matching.assignments(contract, shapes)
            )
            if not possible:
                run_reply.unassigned = True
                continue
            common = (
                possible
                if common is None
                else [assignment for assignment in common if assignment in possible] or common
            )
        if not common:
            return None
        self.reply.assignments = [
            {path: list(roles) for path, roles in assignment.items()} for assignment in common
        ]
        self.reply.assignment = self.reply.assignments[0]
        return common[0]

    def _try_all(
        self,
        namespace: dict[str, Any],
        built: Mapping[int, Any],
        contracts: Mapping[int, layer_matching.Contract],
        drive: Drive,
    ) -> TriedAssignments | None:
        """Run the first plain case under every assignment, each with a new module.

        Returns:
            None if no plain case has a module.
        """
        usable = (
            run_index
            for run_index, implementation in built.items()
            if isinstance(implementation, nn.Module) and not self.runs[run_index].unassigned
        )
        run_index = next(
            (run_index for run_index in usable if _is_plain(self.request.runs[run_index])), None
        )
        if run_index is None:
            return None
        run = self.request.runs[run_index]

        def run_under(assignment: layer_matching.Assignment) -> dict[str, Returned]:
            implementation = self._built(run, namespace)
            weights.load(implementation, contracts[run_index], assignment, self._weights_of(run))
            with torch.no_grad():
                return self._described(
                    drive(implementation, Given(self._fresh_inputs(run, run.inputs), run.sizes))
                )

        possible = [
            {path: tuple(roles) for path, roles in assignment.items()}
            for assignment in self.reply.assignments
        ]
        return TriedAssignments(
            run_index,
            self.reply.assignments,
            [
                self.guarded.call("forward", partial(run_under, assignment))[0] or {}
                for assignment in possible
            ],
        )

    def _contract(self, run: Run) -> layer_matching.Contract:
        return layer_matching.contract_of(
            {
                name: tuple(self.tensors[tensor_id].shape)
                for name, tensor_id in run.parameters.items()
            }
        )

    def _weights_of(self, run: Run) -> dict[str, Tensor]:
        """Return the weights of a run, named as in the contract."""
        return {name: self.tensors[tensor_id] for name, tensor_id in run.parameters.items()}

    def _fresh_inputs(self, run: Run, tree: dict[str, Any]) -> dict[str, Any]:
        """Return inputs with these values in new memory, in the layout of the run."""
        return laid_out(run, tree, self.tensors)

    def _with_values(self, run: Run, given: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
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
            return self._fresh_inputs(run, tree)
        try:
            for (_, tensor), (_, values) in pairs:
                overwrite(tensor, values)
        except RuntimeError:
            return self._fresh_inputs(run, tree)
        return given

    def _run(
        self,
        run_index: int,
        implementation: Any,
        drive: Drive,
        contract: layer_matching.Contract,
        chosen: layer_matching.Assignment | None,
    ) -> None:
        """Make the calls of one run. `RunReply` describes the calls."""
        run, run_reply = self.request.runs[run_index], self.runs[run_index]
        purpose = self._purpose_of(run)
        if purpose in RECORDED:
            self._record(run_index, implementation, drive)
            return
        has_gradients = bool(run.differentiable or run.cotangents)

        def call(inputs: dict[str, Any], *, grad: bool) -> dict[str, Any]:
            guard = nullcontext() if grad else without_autograd(self.request.forbids)
            with torch.set_grad_enabled(grad), guard:
                return drive(implementation, Given(inputs, run.sizes))

        def first_call() -> dict[str, Any]:
            if not (run.probe and run.counted) or purpose != "grade":
                return call(given, grad=False)
            # The counters print some lines, which must not be taken for the learner's output.
            self.hooks.mark_output("")
            return self._counted(
                run_index, printing_call, training=run.mode == "train", gradients=False
            )

        def printing_call() -> dict[str, Any]:
            self.hooks.mark_output(str(run_index))
            try:
                return call(given, grad=False)
            finally:
                self.hooks.mark_output("")

        self.hooks.mark_output(str(run_index))
        is_special = (
            run.probe or run.repeat_without_gradients or run.random or self._gradients_matter
        )
        if purpose == "grade" and has_gradients and not is_special:
            if self._run_twice(run, run_reply, implementation, call, contract, chosen):
                return
            self.hooks.mark_output("")  # the first call has printed the output of this run already
        given = self._fresh_inputs(run, run.inputs)
        if run.probe and (
            short := next(
                (
                    other.failure
                    for other in self.runs
                    if other.failure and other.failure.out_of_memory
                ),
                None,
            )
        ):
            # The counters would find no memory either, and would end the process.
            run_reply.failure = short
            return
        if self.request.measured:
            self.hooks.await_measurement()
        if purpose == "facts":
            recorder = FactsRecorder(self.guarded.path)
            with recorder:
                outputs, run_reply.failure = self.guarded.call("forward", first_call)
            run_reply.facts = recorder.facts()
            run_reply.facts.unused = unused_state(implementation, recorder.used)
        else:
            outputs, run_reply.failure = self.guarded.call("forward", first_call)
        self.hooks.mark_output("")
        run_reply.inputs_after = {name: self.table.add(tensor) for name, tensor in leaves(given)}
        if run_reply.failure is not None:
            return
        run_reply.outputs, run_reply.failure = self.guarded.call(
            "forward", partial(self._described, outputs)
        )
        if run_reply.failure is not None:
            run_reply.outputs = {}
            return
        if purpose in ("outputs", "facts"):
            return
        if run.probe:
            for training, with_gradients in run.ways:
                if run_reply.failure is None and purpose == "grade":
                    self._count_again(
                        run_index, implementation, call, training=training, gradients=with_gradients
                    )
            return
        first = self._run_again(run, run_reply, given, outputs, call)
        is_as_first = False
        if has_gradients:
            is_as_first = self._run_gradients(
                run, run_reply, implementation, first, call, contract, chosen
            )
            self._gradients_matter |= not is_as_first and not run.random
        if run_reply.again_failure is None and (
            run.repeat_without_gradients or run.random or not is_as_first
        ):
            repeated, run_reply.again_failure = self.guarded.call(
                "second call",
                lambda: self._described(call(self._fresh_inputs(run, run.inputs), grad=False)),
            )
            run_reply.outputs_repeated = repeated or {}

    def _run_twice(
        self,
        run: Run,
        run_reply: RunReply,
        implementation: Any,
        call: Callable[..., dict[str, Any]],
        contract: layer_matching.Contract,
        chosen: layer_matching.Assignment | None,
    ) -> bool:
        """Make a call with gradients, and one call without on new values in the same memory.

        Returns:
            False if the first call fails. Then no result is stored, because the gradients may be
            the reason of the failure.
        """
        given = self._requiring_gradients(run)
        outputs, failure = self.guarded.call("forward", lambda: call(given, grad=True))
        if failure is None:
            run_reply.outputs, failure = self.guarded.call(
                "forward", partial(self._described, outputs)
            )
        if failure is not None:
            run_reply.outputs, self._gradients_matter = {}, True
            return False
        self.hooks.mark_output("")
        self._take_gradients(run, run_reply, implementation, given, outputs, contract, chosen)
        for _, tensor in leaves(given):
            if tensor.is_leaf:
                tensor.requires_grad_(False)
        run_reply.inputs_after = {name: self.table.add(tensor) for name, tensor in leaves(given)}
        self._run_again(run, run_reply, given, outputs, call)
        return True

    def _requiring_gradients(self, run: Run) -> dict[str, Any]:
        """Return the first values in new memory. Differentiable inputs require gradients."""
        return map_leaves(
            self._fresh_inputs(run, run.inputs),
            lambda name, tensor: tensor.requires_grad_(name in run.differentiable),
        )

    def _record(self, run_index: int, implementation: Any, drive: Drive) -> None:
        """Make one call and store its steps. Record gradients only if the purpose requires it."""
        run, run_reply = self.request.runs[run_index], self.runs[run_index]
        given = self._fresh_inputs(run, run.inputs)
        with_gradients = self._purpose_of(run) == "gradients"
        if with_gradients:
            given = map_leaves(
                given,
                lambda name, tensor: tensor.detach().requires_grad_(name in run.differentiable),
            )
        own = {
            f"parameter {name}": value.detach()
            for name, value in module_parameters(implementation).items()
        }
        recorder = self._recorders[run_index]
        recorder.add_inputs(dict(leaves(given)) | own)
        if not own and not dict(leaves(given)):  # all inputs are numbers
            given = recorder.track_numbers(given)
        self.hooks.mark_output(str(run_index))
        with torch.set_grad_enabled(with_gradients), recorder:
            outputs, run_reply.failure = self.guarded.call(
                "forward", lambda: drive(implementation, Given(given, run.sizes))
            )
        self.hooks.mark_output("")
        if run_reply.failure is None and with_gradients:
            recorder.mark_used(value for value in outputs.values() if isinstance(value, Tensor))
        for step in recorder.steps:
            tensor_id = (
                self.table.add(step.value)
                if step.value is not None and is_sendable(step.value)
                else -1
            )
            name, parents = cap(step.name, 100), list(step.parents[:64])
            run_reply.steps.append(
                Step(
                    list(step.lines),
                    cap(step.operation, 100),
                    tensor_id,
                    parents,
                    name,
                    step.written,
                    step.entries,
                    step.is_cut,
                )
            )
        if run_reply.failure is None:
            run_reply.outputs = (
                self.guarded.call("forward", partial(self._described, outputs))[0] or {}
            )
            run_reply.made_by = {
                name: recorder.step_of(value)
                for name, value in outputs.items()
                if isinstance(value, Tensor | TrackedNumber)
            }

    def _counted(
        self, run_index: int, call: Callable[[], dict[str, Any]], *, training: bool, gradients: bool
    ) -> dict[str, Any]:
        """Make a call, store its counts, and return its outputs."""
        probe = self.request.runs[run_index].probe

        def made() -> dict[str, Any]:
            return _plain_tensors(call())

        if probe == "held":
            outputs, counts = observe_memory(made, training=training, gradients=gradients)
        elif probe == "memory":
            outputs, counts = observe_largest(made, training=training, gradients=gradients)
        else:
            outputs, counts = observe(
                made, products=probe == "work", training=training, gradients=gradients
            )
        self._store_counts(run_index, counts)
        given: dict[str, Any] = outputs
        return given

    def _store_counts(self, run_index: int, counts: Counts) -> None:
        self.hooks.send_counts(run_index, counts)
        self.runs[run_index].counts.append(counts)

    def _count_again(
        self,
        run_index: int,
        implementation: Any,
        call: Callable[..., dict[str, Any]],
        *,
        training: bool,
        gradients: bool,
    ) -> None:
        """Count a call in another mode, or with gradients.

        The learner's code may compute in another way then.
        """
        run, run_reply = self.request.runs[run_index], self.runs[run_index]
        inputs = self._fresh_inputs(run, run.inputs)
        if gradients:
            inputs = map_leaves(
                inputs, lambda _, tensor: tensor.requires_grad_(tensor.is_floating_point())
            )
        is_module = isinstance(implementation, nn.Module)

        def another_call() -> dict[str, Any]:
            if is_module:
                implementation.train(training)
            return self._counted(
                run_index,
                lambda: call(inputs, grad=gradients),
                training=training,
                gradients=gradients,
            )

        failure = self.guarded.call(
            "forward with gradients" if gradients else "forward", another_call
        )[1]
        # Other cases report failures that occur in the other mode only.
        if training == (run.mode == "train"):
            run_reply.failure = failure
        if is_module:
            self.guarded.call("forward", lambda: implementation.train(run.mode == "train"))

    def _run_gradients(
        self,
        run: Run,
        run_reply: RunReply,
        implementation: Any,
        first: dict[str, Tensor],
        call: Callable[..., dict[str, Any]],
        contract: layer_matching.Contract,
        chosen: layer_matching.Assignment | None,
    ) -> bool:
        """Make a call with gradients on the first values in new memory, and the backward pass.

        Returns:
            True if the outputs equal those of the `first` call.
        """
        inputs = self._requiring_gradients(run)
        outputs, failure = self.guarded.call(
            "forward with gradients", lambda: call(inputs, grad=True)
        )
        if failure is not None:
            run_reply.gradient_failure = failure
            return False
        run_reply.outputs_with_gradients, run_reply.gradient_failure = self.guarded.call(
            "forward with gradients", partial(self._described, outputs)
        )
        if run_reply.gradient_failure is not None:
            run_reply.outputs_with_gradients = {}
            return False
        is_as_first = bool(
            self.guarded.call(
                "forward with gradients",
                lambda: all(
                    _is_same(first.get(name), outputs.get(name)) for name in run_reply.outputs
                ),
            )[0]
        )
        self._take_gradients(run, run_reply, implementation, inputs, outputs, contract, chosen)
        return is_as_first

    def _take_gradients(
        self,
        run: Run,
        run_reply: RunReply,
        implementation: Any,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
        contract: layer_matching.Contract,
        chosen: layer_matching.Assignment | None,
    ) -> None:
        """Make the backward pass and store the gradients, named as in the contract."""
        own = module_parameters(implementation)
        wrt = {
            f"input {name}": tensor for name, tensor in leaves(inputs) if name in run.differentiable
        }
        wrt |= {f"parameter {name}": parameter for name, parameter in own.items()}
        cotangents = {name: self.tensors[tensor_id] for name, tensor_id in run.cotangents.items()}
        found, run_reply.gradient_failure = self.guarded.call(
            "backward", lambda: gradients(outputs, cotangents, wrt)
        )
        if run_reply.gradient_failure is not None:
            return
        of_inputs = {
            name.removeprefix("input "): value
            for name, value in found.items()
            if name.startswith("input ")
        }
        if chosen is not None:
            shapes = {
                name: tuple(self.tensors[tensor_id].shape)
                for name, tensor_id in run.parameters.items()
            }
            of_own = {name: found[f"parameter {name}"] for name in own}
            own_shapes = {name: tuple(value.shape) for name, value in own.items()}
            plain = layer_matching.plain_names(contract, own_shapes) or {}
            of_inputs |= weights.by_contract(contract, chosen, of_own, shapes, plain)
        run_reply.gradients = {
            name: self.table.add(value) for name, value in of_inputs.items() if is_sendable(value)
        }

    def _run_again(
        self,
        run: Run,
        run_reply: RunReply,
        given: dict[str, Any],
        first: dict[str, Any],
        call: Callable[..., dict[str, Any]],
    ) -> dict[str, Tensor]:
        """Make a call on new values in the same memory; check that inputs and first outputs stay.

        A submission may keep a result or a mask of an earlier call, by value or by reference. Then
        the results of this call or of the next call are wrong.

        Returns:
            Copies of the first outputs, made before this call.
        """
        memory = {tensor.untyped_storage().data_ptr() for _, tensor in leaves(given)}
        before = {
            name: value.detach().clone()
            for name, value in first.items()
            if is_sendable(value) and value.untyped_storage().data_ptr() not in memory
        }
        given = self._with_values(run, given, run.again)
        inputs = {name: tensor.detach().clone() for name, tensor in leaves(given)}
        outputs, run_reply.again_failure = self.guarded.call(
            "second call", lambda: call(given, grad=False)
        )
        if run_reply.again_failure is None:
            run_reply.outputs_again = (
                self.guarded.call("second call", partial(self._described, outputs))[0] or {}
            )
            run_reply.overwritten = [
                name for name, value in before.items() if not _is_same(value, first[name])
            ]
            run_reply.changed_again = [
                name for name, tensor in leaves(given) if not _is_same(inputs[name], tensor)
            ]
        return before

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


def _plain_tensors(outputs: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of a call with plain tensors in place of tensors of the learner's classes.

    A tensor class of the learner's may delay its computation until its values are read.
    """
    found: dict[str, Any] = {}
    for name, value in outputs.items():
        if (
            isinstance(value, Tensor)
            and type(value) not in (Tensor, nn.Parameter)
            and _oddity(value) is None
        ):
            plain = Tensor.detach(value)
            value = plain if type(plain) is Tensor else plain.as_subclass(Tensor)
        found[name] = value
    return found


def _is_plain(run: Run) -> bool:
    """Return if a run has no probe, no dropout, no special memory layout and no coarse rounding."""
    return run.probe is None and run.mode == "eval" and not run.layout and run.dtype != "bfloat16"


def _is_same(value: Any, other: Any) -> bool:
    """Return if two results have the same entries. NaN counts as 0 here."""
    return (
        is_sendable(value)
        and is_sendable(other)
        and value.shape == other.shape
        and torch.equal(value.nan_to_num(), other.detach().nan_to_num())
    )


def laid_out(run: Run, tree: dict[str, Any], tensors: Sequence[Tensor]) -> dict[str, Any]:
    """Return inputs of a run in new memory, in the layout of the run.

    Args:
        run: the run, which names the layouts.
        tree: the inputs, with {"tensor": tensor_id} in place of tensors.
        tensors: the tensors of the request.
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
