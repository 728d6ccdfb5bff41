"""Run an implementation through the cases: build it, give it the grader's weights, call it, take its gradients, call it again.

The worker does this with a submission. The grader does it with its own content, where it asks how a known mistake behaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import groupby
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from trainer.worker import layer_matching, weights
from trainer.worker.arguments import adapted, construct
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
from trainer.worker.guarded_call import GuardedCall
from trainer.worker.protocol import (
    DTYPES,
    MOST_DIMS,
    MOST_TENSOR_BYTES,
    CallFailure,
    Counts,
    Purpose,
    Reply,
    Request,
    Returned,
    Run,
    RunReply,
    Step,
    Tried,
    cap,
    fill,
    name_of,
)
from trainer.worker.recorder import Recorder
from trainer.worker.returns import describe, plain_value
from trainer.worker.tracked_numbers import TrackedNumber

_RECORDED = ("lines", "tensors", "gradients")  # purposes


class Table(Protocol):
    """Where tensors of a reply go."""

    def add(self, tensor: Tensor) -> int:
        """Keep a copy of the tensor's values; returns its number."""


class KeptTensors:
    """A table that stays in this process."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []

    def add(self, tensor: Tensor) -> int:
        """Keep a copy of the tensor's values; returns its number."""
        self.tensors.append(tensor.detach().clone())
        return len(self.tensors) - 1


class Hooks:
    """What a trial tells while it is under way; here nothing, and what is counted needs no import of its own."""

    def note(self, number: int) -> None:
        """This run is about to start."""

    def done(self, count: int) -> None:
        """So many runs, from the first on, are told in full."""

    def several(self, look: Callable[[], Tried | None]) -> None:
        """Several assignments of layers fit; `look` tries them all on one run."""

    def mark(self, part: str) -> None:
        """What is printed from here on belongs to this part: `import`, or the number of a run for its first call."""

    def counted(self, number: int, counts: Counts) -> None:
        """This is what a call of this run did."""

    def ready(self) -> None:
        """All is ready for the call of a run whose memory is measured."""

    def afresh(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """The same file imported once more, for what is counted."""
        return namespace


class CaseRunner:
    """One file on its way through all runs of a request."""

    def __init__(
        self,
        request: Request,
        tensors: Sequence[Tensor],
        guarded: GuardedCall,
        table: Table,
        hooks: Hooks,
    ) -> None:
        self.request, self.tensors, self.guarded, self.table, self.hooks = (
            request,
            tensors,
            guarded,
            table,
            hooks,
        )
        self.reply = Reply()
        self.runs = [RunReply() for _ in request.runs]
        self._gradients_matter = False  # whether some call with gradients failed, or gave something else than the one without
        self._recorders: dict[int, Recorder] = {}

    def run_all(self, namespace: dict[str, Any], drive: Drive) -> None:
        """Every run of the request, then what the constructor must refuse; all that happens is told in `reply`."""
        self.reply.runs = self.runs
        drive = adapted(drive, self.request.entry, self.request.signatures)
        # What a constructor leaves for the whole class must not reach runs that are to be as if they were alone.
        for _, numbers in groupby(
            range(len(self.runs)), key=lambda number: self.request.runs[number].purpose
        ):
            self._run_together(list(numbers), namespace, drive)
        for index, init in enumerate(self.request.refusals):
            self.hooks.note(len(self.request.runs) + index)
            name = self.request.entry[0]
            refused = partial(construct, namespace[name], name, init, self.request.signatures)
            self.reply.refusals.append(self.guarded.call("construct", refused)[1])

    def _run_together(
        self, numbers: Sequence[int], namespace: dict[str, Any], drive: Drive
    ) -> None:
        """These runs, all of them built before the first one is called."""
        built = {number: self.build(number, namespace) for number in numbers}
        contracts = {number: self._contract(self.request.runs[number]) for number in numbers}
        chosen = self._choose_assignment(built, contracts)
        if len(self.reply.assignments) > 1:
            self.hooks.several(lambda: self._try_all(namespace, built, contracts, drive))
        for number, implementation in built.items():
            self.hooks.done(number)
            if implementation is None:
                continue
            run, contract, told = self.request.runs[number], contracts[number], self.runs[number]
            if isinstance(implementation, nn.Module):
                if chosen is None or told.unassigned:
                    told.unassigned = True
                    if (
                        number == 0
                    ):  # its values mean nothing, but it may still call what is not allowed
                        self.guarded.call(
                            "forward",
                            partial(
                                drive,
                                implementation,
                                Given(self.inputs(run, run.inputs), run.sizes),
                            ),
                        )
                    continue
                weights.load(implementation, contract, chosen, self.values_of(run))
            self.hooks.note(number)
            self._run(number, implementation, drive, contract, chosen)

    def build(self, number: int, namespace: dict[str, Any]) -> Any:
        """What `drive` calls in this run, with weights of its own still; None where the file's code raises."""
        run = self.request.runs[number]
        self.hooks.note(number)
        if run.probe:
            namespace = self.hooks.afresh(namespace)
        self.hooks.mark(str(number))
        lost: list[str] = []
        with self._recording(number):
            implementation, failure = self.guarded.call(
                "construct", lambda: self._built(run, namespace, lost)
            )
        self.hooks.mark("")
        told = self.runs[number]
        told.failure, told.lost = failure, [cap(name, 200) for name in lost[:50]]
        if failure is None and isinstance(implementation, nn.Module):
            lazy, failure = self.guarded.call(
                "construct", lambda: weights.lazy_layers(implementation)
            )
            told.lazy = {
                cap(path, 200): cap(kind, 200) for path, kind in list((lazy or {}).items())[:50]
            }
            names: Any = None
            if failure is None:
                names, failure = self.guarded.call(
                    "construct", lambda: weights.parameter_names(implementation)
                )
            if failure is not None:
                told.failure = failure
                return None
            shapes, shared = names
            told.parameters = {
                cap(name, 200): list(shape) for name, shape in list(shapes.items())[:200]
            }
            told.shared = {
                cap(name, 200): cap(other, 200) for name, other in list(shared.items())[:200]
            }
        elif failure is None and self.request.kind == "module":
            told.failure = CallFailure(
                "construct",
                "TypeError",
                f"{self.request.entry[0]}(…) gives {describe(implementation)}, which is no nn.Module",
            )
            return None
        return None if failure else implementation

    def _built(self, run: Run, namespace: dict[str, Any], lost: list[str] | None = None) -> Any:
        asked = self.request
        dtype = DTYPES[run.dtype]
        return build(
            namespace, asked.kind, asked.entry, run.init, dtype, run.mode, asked.signatures, lost
        )

    def _recording(self, number: int) -> AbstractContextManager[object]:
        """The recorder of this run, where the request asks for one."""
        purpose = self._purpose_of(self.request.runs[number])
        if purpose not in _RECORDED:
            return nullcontext()
        return self._recorders.setdefault(
            number,
            Recorder(self.guarded.path, names=purpose == "lines", gradients=purpose == "gradients"),
        )

    def _purpose_of(self, run: Run) -> Purpose:
        return run.purpose or self.request.purpose

    def _choose_assignment(
        self, built: Mapping[int, Any], contracts: Mapping[int, layer_matching.Contract]
    ) -> layer_matching.Assignment | None:
        """The request's assignment of the learner's layers, or the first that fits every case."""
        asked = {path: tuple(roles) for path, roles in self.request.assignment.items()}
        common: list[layer_matching.Assignment] | None = [asked] if asked else None
        for number, implementation in built.items():
            if not isinstance(implementation, nn.Module):
                continue
            contract, told = contracts[number], self.runs[number]
            shapes = {name: tuple(shape) for name, shape in told.parameters.items()}
            if told.lazy:
                told.unassigned = True
                continue
            # The one that is asked for is among those of all cases; of a single one there may be more than are looked for.
            possible = (
                [asked] * layer_matching.fits(contract, shapes, asked)
                if asked
                else layer_matching.assignments(contract, shapes)
            )
            if not possible:
                told.unassigned = True
                continue
            common = (
                possible if common is None else [one for one in common if one in possible] or common
            )
        if not common:
            return None
        self.reply.assignments = [
            {path: list(roles) for path, roles in one.items()} for one in common
        ]
        self.reply.assignment = self.reply.assignments[0]
        return common[0]

    def _try_all(
        self,
        namespace: dict[str, Any],
        built: Mapping[int, Any],
        contracts: Mapping[int, layer_matching.Contract],
        drive: Drive,
    ) -> Tried | None:
        """The first plain run under every assignment, on an object of its own; None where there is none that was built."""
        usable = (
            number
            for number, one in built.items()
            if isinstance(one, nn.Module) and not self.runs[number].unassigned
        )
        number = next((number for number in usable if _is_plain(self.request.runs[number])), None)
        if number is None:
            return None
        run = self.request.runs[number]

        def once(assignment: layer_matching.Assignment) -> dict[str, Returned]:
            implementation = self._built(run, namespace)
            weights.load(implementation, contracts[number], assignment, self.values_of(run))
            with torch.no_grad():
                return self.told(
                    drive(implementation, Given(self.inputs(run, run.inputs), run.sizes))
                )

        possible = [
            {path: tuple(roles) for path, roles in one.items()} for one in self.reply.assignments
        ]
        return Tried(
            number,
            self.reply.assignments,
            [self.guarded.call("forward", partial(once, one))[0] or {} for one in possible],
        )

    def _contract(self, run: Run) -> layer_matching.Contract:
        return layer_matching.contract_of(
            {name: tuple(self.tensors[index].shape) for name, index in run.parameters.items()}
        )

    def values_of(self, run: Run) -> dict[str, Tensor]:
        """The weights of a run, named as in the contract."""
        return {name: self.tensors[index] for name, index in run.parameters.items()}

    def inputs(self, run: Run, tree: dict[str, Any]) -> dict[str, Any]:
        """Fresh memory with these values, laid out as the run says."""
        return laid_out(run, tree, self.tensors)

    def _with_values(self, run: Run, given: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
        """The same tensors with these values; new ones if the submission has changed their shape or made them unwritable."""
        pairs = list(
            zip(
                leaves(given),
                leaves({name: fill(value, self.tensors) for name, value in tree.items()}),
                strict=True,
            )
        )
        if any(tensor.shape != values.shape for (_, tensor), (_, values) in pairs):
            return self.inputs(run, tree)
        try:
            for (_, tensor), (_, values) in pairs:
                overwrite(tensor, values)
        except RuntimeError:
            return self.inputs(run, tree)
        return given

    def _run(
        self,
        number: int,
        implementation: Any,
        drive: Drive,
        contract: layer_matching.Contract,
        chosen: layer_matching.Assignment | None,
    ) -> None:
        """A call without gradients, one on new values in the same memory, one with gradients on the first values in new memory.

        That last call is made without gradients too where there are none, where what it gave is not what the first one gave, and where the run says so.
        Where it does not say so, and gradients have made no difference in any run before, the first call records them, and there is no third.
        """
        run, told = self.request.runs[number], self.runs[number]
        purpose = self._purpose_of(run)
        if purpose in _RECORDED:
            self._record(number, implementation, drive)
            return
        has_gradients = bool(run.differentiable or run.cotangents)

        def call(inputs: dict[str, Any], *, grad: bool) -> dict[str, Any]:
            with torch.set_grad_enabled(grad):
                return drive(implementation, Given(inputs, run.sizes))

        def first_call() -> dict[str, Any]:
            if not (run.probe and run.counted) or purpose != "grade":
                return call(given, grad=False)
            # The counters print on their own: what they print is not the learner's.
            self.hooks.mark("")
            return self._counted(
                number, printing_call, training=run.mode == "train", gradients=False
            )

        def printing_call() -> dict[str, Any]:
            self.hooks.mark(str(number))
            try:
                return call(given, grad=False)
            finally:
                self.hooks.mark("")

        self.hooks.mark(str(number))
        own_call = run.probe or run.once_more or run.random or self._gradients_matter
        if purpose == "grade" and has_gradients and not own_call:
            if self._run_twice(run, told, implementation, call, contract, chosen):
                return
            self.hooks.mark("")  # it has printed what it prints in this run
        given = self.inputs(run, run.inputs)
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
            told.failure = short  # the counters would find no memory either, and end the process
            return
        if self.request.measured:
            self.hooks.ready()
        outputs, told.failure = self.guarded.call("forward", first_call)
        self.hooks.mark("")
        told.inputs_after = {name: self.table.add(tensor) for name, tensor in leaves(given)}
        if told.failure is not None:
            return
        told.outputs, told.failure = self.guarded.call("forward", partial(self.told, outputs))
        if told.failure is not None:
            told.outputs = {}
            return
        if purpose == "outputs":
            return
        if run.probe:
            for training, with_gradients in run.ways:
                if told.failure is None and purpose == "grade":
                    self._count_again(
                        number, implementation, call, training=training, gradients=with_gradients
                    )
            return
        first = self._run_again(run, told, given, outputs, call)
        as_first = False
        if has_gradients:
            as_first = self._run_gradients(run, told, implementation, first, call, contract, chosen)
            self._gradients_matter |= not as_first and not run.random
        if told.again_failure is None and (run.once_more or run.random or not as_first):
            once_more, told.again_failure = self.guarded.call(
                "second call", lambda: self.told(call(self.inputs(run, run.inputs), grad=False))
            )
            told.outputs_once_more = once_more or {}

    def _run_twice(
        self,
        run: Run,
        told: RunReply,
        implementation: Any,
        call: Callable[..., dict[str, Any]],
        contract: layer_matching.Contract,
        chosen: layer_matching.Assignment | None,
    ) -> bool:
        """A call with gradients, and one without on new values in the same memory. False, and nothing told, where the first one fails: gradients may be why."""
        given = self._requiring_gradients(run)
        outputs, failure = self.guarded.call("forward", lambda: call(given, grad=True))
        if failure is None:
            told.outputs, failure = self.guarded.call("forward", partial(self.told, outputs))
        if failure is not None:
            told.outputs, self._gradients_matter = {}, True
            return False
        self.hooks.mark("")
        self._take_gradients(run, told, implementation, given, outputs, contract, chosen)
        for _, tensor in leaves(given):
            if tensor.is_leaf:
                tensor.requires_grad_(False)
        told.inputs_after = {name: self.table.add(tensor) for name, tensor in leaves(given)}
        self._run_again(run, told, given, outputs, call)
        return True

    def _requiring_gradients(self, run: Run) -> dict[str, Any]:
        """The first values in fresh memory, such that gradients flow to what is to have some."""
        return map_leaves(
            self.inputs(run, run.inputs),
            lambda name, tensor: tensor.requires_grad_(name in run.differentiable),
        )

    def _record(self, number: int, implementation: Any, drive: Drive) -> None:
        """One call, without gradients unless they are asked for; tells what each line makes."""
        run, told = self.request.runs[number], self.runs[number]
        given = self.inputs(run, run.inputs)
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
        recorder = self._recorders[number]
        recorder.give(dict(leaves(given)) | own)
        if not own and not dict(leaves(given)):  # nothing but numbers is computed
            given = recorder.give_numbers(given)
        self.hooks.mark(str(number))
        with torch.set_grad_enabled(with_gradients), recorder:
            outputs, told.failure = self.guarded.call(
                "forward", lambda: drive(implementation, Given(given, run.sizes))
            )
        self.hooks.mark("")
        if told.failure is None and with_gradients:
            recorder.used(value for value in outputs.values() if isinstance(value, Tensor))
        for step in recorder.steps:
            tensor = (
                self.table.add(step.value)
                if step.value is not None and is_sendable(step.value)
                else -1
            )
            name, parents = cap(step.name, 100), list(step.parents[:64])
            told.steps.append(
                Step(
                    list(step.lines),
                    cap(step.operation, 100),
                    tensor,
                    parents,
                    name,
                    step.into,
                    step.entries,
                    step.cut,
                )
            )
        if told.failure is None:
            told.outputs = self.guarded.call("forward", partial(self.told, outputs))[0] or {}
            told.made_by = {
                name: recorder.step_of(value)
                for name, value in outputs.items()
                if isinstance(value, Tensor | TrackedNumber)
            }

    def _counted(
        self, number: int, call: Callable[[], dict[str, Any]], *, training: bool, gradients: bool
    ) -> dict[str, Any]:
        """Make a call and tell what it did."""
        probe = self.request.runs[number].probe

        def made() -> dict[str, Any]:
            return _looked_at(call())

        if probe == "held":
            outputs, counts = observe_memory(made, training=training, gradients=gradients)
        elif probe == "memory":
            outputs, counts = observe_largest(made, training=training, gradients=gradients)
        else:
            outputs, counts = observe(
                made, products=probe == "work", training=training, gradients=gradients
            )
        self._tell(number, counts)
        given: dict[str, Any] = outputs
        return given

    def _tell(self, number: int, counts: Counts) -> None:
        self.hooks.counted(number, counts)
        self.runs[number].counts.append(counts)

    def _count_again(
        self,
        number: int,
        implementation: Any,
        call: Callable[..., dict[str, Any]],
        *,
        training: bool,
        gradients: bool,
    ) -> None:
        """Count a call in another mode, with gradients or without: the learner's code may take another way there."""
        run, told = self.request.runs[number], self.runs[number]
        inputs = self.inputs(run, run.inputs)
        if gradients:
            inputs = map_leaves(
                inputs, lambda _, tensor: tensor.requires_grad_(tensor.is_floating_point())
            )
        is_module = isinstance(implementation, nn.Module)

        def another_call() -> dict[str, Any]:
            if is_module:
                implementation.train(training)
            return self._counted(
                number, lambda: call(inputs, grad=gradients), training=training, gradients=gradients
            )

        failure = self.guarded.call(
            "forward with gradients" if gradients else "forward", another_call
        )[1]
        if training == (
            run.mode == "train"
        ):  # what is wrong in the other mode alone, other cases tell
            told.failure = failure
        if is_module:
            self.guarded.call("forward", lambda: implementation.train(run.mode == "train"))

    def _run_gradients(
        self,
        run: Run,
        told: RunReply,
        implementation: Any,
        first: dict[str, Tensor],
        call: Callable[..., dict[str, Any]],
        contract: layer_matching.Contract,
        chosen: layer_matching.Assignment | None,
    ) -> bool:
        """A call with gradients on the first values in new memory, and the backward pass. Returns whether all that the `first` call gave came again."""
        inputs = self._requiring_gradients(run)
        outputs, failure = self.guarded.call(
            "forward with gradients", lambda: call(inputs, grad=True)
        )
        if failure is not None:
            told.gradient_failure = failure
            return False
        told.outputs_with_gradients, told.gradient_failure = self.guarded.call(
            "forward with gradients", partial(self.told, outputs)
        )
        if told.gradient_failure is not None:
            told.outputs_with_gradients = {}
            return False
        as_first = bool(
            self.guarded.call(
                "forward with gradients",
                lambda: all(_is_same(first.get(name), outputs.get(name)) for name in told.outputs),
            )[0]
        )
        self._take_gradients(run, told, implementation, inputs, outputs, contract, chosen)
        return as_first

    def _take_gradients(
        self,
        run: Run,
        told: RunReply,
        implementation: Any,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
        contract: layer_matching.Contract,
        chosen: layer_matching.Assignment | None,
    ) -> None:
        """The backward pass, and what comes of it, named as in the contract."""
        own = module_parameters(implementation)
        wrt = {
            f"input {name}": tensor for name, tensor in leaves(inputs) if name in run.differentiable
        }
        wrt |= {f"parameter {name}": parameter for name, parameter in own.items()}
        cotangents = {name: self.tensors[index] for name, index in run.cotangents.items()}
        found, told.gradient_failure = self.guarded.call(
            "backward", lambda: gradients(outputs, cotangents, wrt)
        )
        if told.gradient_failure is not None:
            return
        of_inputs = {
            name.removeprefix("input "): value
            for name, value in found.items()
            if name.startswith("input ")
        }
        if chosen is not None:
            shapes = {
                name: tuple(self.tensors[index].shape) for name, index in run.parameters.items()
            }
            of_own = {name: found[f"parameter {name}"] for name in own}
            of_inputs |= weights.by_contract(contract, chosen, of_own, shapes)
        told.gradients = {
            name: self.table.add(value) for name, value in of_inputs.items() if is_sendable(value)
        }

    def _run_again(
        self,
        run: Run,
        told: RunReply,
        given: dict[str, Any],
        first: dict[str, Any],
        call: Callable[..., dict[str, Any]],
    ) -> dict[str, Tensor]:
        """New values in the same memory; the first results must stay. Returns copies of them.

        An answer or a mask kept from an earlier call, by value or by reference, is wrong here or in the call that follows.
        """
        memory = {tensor.untyped_storage().data_ptr() for _, tensor in leaves(given)}
        before = {
            name: value.detach().clone()
            for name, value in first.items()
            if is_sendable(value) and value.untyped_storage().data_ptr() not in memory
        }
        given = self._with_values(run, given, run.again)
        outputs, told.again_failure = self.guarded.call(
            "second call", lambda: call(given, grad=False)
        )
        if told.again_failure is None:
            told.outputs_again = (
                self.guarded.call("second call", partial(self.told, outputs))[0] or {}
            )
            told.overwritten = [
                name for name, value in before.items() if not _is_same(value, first[name])
            ]
        return before

    def told(self, outputs: Any) -> dict[str, Returned]:
        """What `drive` gave, in words and numbers of tensors."""
        told: dict[str, Returned] = {}
        for name, value in outputs.items():
            if not isinstance(value, Tensor):
                plain, text = plain_value(value)
                told[name] = Returned(cap(describe(value)), plain=plain, text=cap(text, 200))
                continue
            if (odd := _oddity(value)) is not None:
                told[name] = Returned(odd)
                continue
            told[name] = Returned(
                "a tensor",
                list(value.shape),
                name_of(value.dtype),
                value.device.type,
                self.table.add(value) if is_sendable(value) else -1,
            )
        return told


def _looked_at(outputs: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a call as plain tensors: a tensor class of the learner's may compute only when it is looked at."""
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
    """Whether nothing about a run is special: no probe, no dropout, no odd memory, no coarse rounding."""
    return run.probe is None and run.mode == "eval" and not run.layout and run.dtype != "bfloat16"


def _is_same(one: Any, other: Any) -> bool:
    """Whether two results are the same numbers, NaN taken for one."""
    return (
        is_sendable(one)
        and is_sendable(other)
        and one.shape == other.shape
        and torch.equal(one.nan_to_num(), other.detach().nan_to_num())
    )


def laid_out(run: Run, tree: dict[str, Any], tensors: Sequence[Tensor]) -> dict[str, Any]:
    """The inputs of a run in fresh memory, laid out as it says."""
    given: dict[str, Any] = {name: fill(value, tensors) for name, value in tree.items()}
    return map_leaves(
        given, lambda name, tensor: lay_out(tensor, run.layout.get(name.partition("[")[0]))
    )


def _oddity(value: Tensor) -> str | None:
    """What makes a tensor no ordinary one, in words."""
    if value.is_nested:
        return "a nested tensor"
    if value.layout is not torch.strided:
        return f"a tensor of layout {value.layout}"
    if value.is_quantized:
        return "a quantized tensor"
    return f"a tensor of {value.dim()} dims" if value.dim() > MOST_DIMS else None


def is_sendable(value: Any) -> bool:
    """Whether a reply can hold it: an ordinary tensor, not too large."""
    return (
        isinstance(value, Tensor)
        and _oddity(value) is None
        and value.device.type == "cpu"
        and name_of(value.dtype) in DTYPES
        and value.numel() * value.element_size() <= MOST_TENSOR_BYTES
    )
