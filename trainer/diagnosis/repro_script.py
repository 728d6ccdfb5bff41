"""Write one case as a short script that a student could have written.

The script builds the learner's module, loads the weights of the case, calls the module as in the
prompt, and compares the results with the expected results. Inputs, weights and expected results are
in a file beside the script. The script needs torch and safetensors, and nothing of this project.
"""

from __future__ import annotations

import ast
import json
import keyword
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from trainer.diagnosis.recorded_calls import RecordedCall, parts_of, recorded_calls
from trainer.diagnosis.tracing import explained
from trainer.grading.case_set import CaseSet
from trainer.grading.checks_load import other_names
from trainer.grading.grader import Grader, Judgement, index_of_case
from trainer.grading.prepared_case import PreparedCase
from trainer.model.challenge import Challenge, Signature
from trainer.model.errors import DrillError
from trainer.model.submission import Submission
from trainer.worker.layer_matching import assignments, contract_of, fits, plain_names
from trainer.worker.weights import own_values

MARK = "# Written by `attn-drill repro`; run it again and it is written anew."
# The greatest differences that torch.testing.assert_close allows by default.
_DEFAULT_ATOL = {"float32": 1e-5, "float64": 1e-7, "bfloat16": 1e-5}


@dataclass(frozen=True)
class Repro:
    """Everything that a script needs to run one case.

    Attributes:
        case_set: the cases.
        case_number: the case to run, from 1.
        seed: of the cases.
        assignment: the roles of every layer of the learner, by path.
        own_shapes: name and shape of the parameters of the learner's module in this case.
        signatures: of the contract, if the learner's arguments have other names; else ().
        check: the check that failed in this case, or "".
        message: the message of this check.
    """

    case_set: CaseSet
    case_number: int
    seed: int
    assignment: Mapping[str, tuple[str, ...]]
    own_shapes: Mapping[str, tuple[int, ...]]
    signatures: tuple[Signature, ...] = ()
    check: str = ""
    message: str = ""

    @property
    def _prepared(self) -> PreparedCase:
        return self.case_set.prepared[self.case_number - 1]

    @cached_property
    def _parts(self) -> _Parts:
        return _Parts(self)

    def tensors(self) -> bytes:
        """Return the safetensors file of the inputs, the weights and the expected results."""
        return save(
            {name: value.contiguous().clone() for name, value in self._parts.tensors.items()}
        )

    def script(self, file: Path, tensors: Path) -> str:
        """Return the text of the script.

        Args:
            file: the learner's file.
            tensors: the file of `Repro.tensors`.
        """
        parts, challenge = self._parts, self.case_set.challenge
        case = self._prepared.case
        failed = f"It fails the check {self.check}: {self.message}." if self.check else ""
        return (
            "\n".join(
                [
                    MARK,
                    f'"""Case {self.case_number} of {challenge.id} ({_in_docstring(case.name)}), '
                    f"seed {self.seed}.",
                    *(["", *_folded(_in_docstring(failed))] if failed else []),
                    "",
                    "Set a breakpoint and run this script in any debugger, or paste it into a "
                    "notebook.",
                    '"""',
                    "",
                    *_imports(file, parts.imported),
                    "",
                    f"case = load_file({_quoted(str(tensors))})",
                    *parts.lines,
                ]
            )
            + "\n"
        )


class _Parts:
    """The lines of a script after its imports, and the tensors that the lines read."""

    def __init__(self, repro: Repro) -> None:
        self._repro, self._prepared = repro, repro._prepared
        self._case = self._prepared.case
        self._recorded = recorded_calls(repro.case_set, repro.case_number - 1)
        self.tensors: dict[str, Tensor] = {}
        self.lines: list[str] = []
        # Tensors, and tuples in results, with their expressions in the script.
        self._names: list[tuple[Tensor, str]] = []
        self._results: list[tuple[Sequence[Any], str]] = []
        self._is_module = repro.case_set.challenge.kind == "module"
        called = {call.name or repro.case_set.challenge.entry[0] for call in self._recorded.calls}
        entries = repro.case_set.challenge.entry
        if self._is_module:
            called.add(entries[0])
        self.imported = sorted(called, key=entries.index)
        self._was_training = self._case.mode == "train"
        self._objects: list[tuple[Any, str]] = []
        if self._is_module:
            self._build_module()
        self._name_inputs()
        for number, call in enumerate(self._recorded.calls, start=1):
            self._write_call(number, call)

    def _write(self, *lines: str) -> None:
        self.lines += lines

    def _build_module(self) -> None:
        challenge, case = self._repro.case_set.challenge, self._case
        arguments = self._arguments("__init__", (), case.init, 0)
        cast = "" if case.dtype == "float32" else f".to(torch.{case.dtype})"
        self._write("", f"module = {challenge.entry[0]}({arguments}){cast}")
        if not case.initial:
            self._store("weight", self._prepared.parameters)
            self._write(
                "weights = {",
                '    name.removeprefix("weight "): value',
                "    for name, value in case.items()",
                '    if name.startswith("weight ")',
                "}",
                "module.load_state_dict(weights, strict=False)  # buffers keep their values",
            )
        self._write(f"module.{case.mode}()")
        if self._recorded.gradients:
            self._store("gradient", self._recorded.gradients)
            self._write(
                "for name, parameter in module.named_parameters():",
                '    parameter.grad = case[f"gradient {name}"]  # left by an earlier step',
            )

    def _store(self, what: str, values: Mapping[str, Tensor]) -> None:
        """Store weights or gradients under the names of the learner's own parameters."""
        shapes = {name: tuple(value.shape) for name, value in self._prepared.parameters.items()}
        contract, own = contract_of(shapes), self._repro.own_shapes
        assignment = dict(self._repro.assignment)
        if not fits(contract, own, assignment):  # each case may have its own number of layers
            assignment = next(iter(assignments(contract, own)), assignment)
        dtype = getattr(torch, self._case.dtype)
        for name, value in own_values(
            contract, assignment, values, plain_names(contract, own)
        ).items():
            self.tensors[f"{what} {name}"] = value.to(dtype)

    def _name_inputs(self) -> None:
        """Write a variable for every input tensor that a call uses as it is."""
        used = [
            part
            for call in self._recorded.calls
            for argument in (*call.positional, *call.named.values())
            for _, part in parts_of(argument)
            if isinstance(part, Tensor)
        ]
        lines = [""]
        for name, tensor in self._recorded.inputs.items():
            if not any(tensor is part for part in used):
                continue
            variable = _variable(name, {known for _, known in self._names})
            self.tensors[name] = tensor
            layout = self._case.layout.get(name.partition("[")[0])
            lines.append(f"{variable} = case[{_quoted(name)}]{_laid_out(tensor, layout)}")
            self._names.append((tensor, variable))
        if len(lines) > 1:
            self._write(*lines)

    def _write_call(self, number: int, call: RecordedCall) -> None:
        result = "out" if len(self._recorded.calls) == 1 else f"out_{number}"
        is_module = self._is_module and not call.name
        function = "module" if is_module else call.name or self.imported[0]
        signature = "forward" if is_module else function
        arguments = self._arguments(signature, call.positional, call.named, number)
        self._write("")
        if self._is_module and call.was_training != self._was_training:
            self._write("module.train()" if call.was_training else "module.eval()")
        self._was_training = call.is_training
        self._write(f"{result} = {function}({arguments})")
        drops = call.was_training or call.is_training
        self._is_random = drops and bool(self._case.init.get("dropout"))
        for path, part in parts_of(call.result):
            self._write(*self._comparison(f"{result}{path}", f"expected {result}{path}", part))
            if isinstance(part, Tensor):
                self._names.append((part, f"{result}{path}"))
        self._results += [(parts, f"{result}{path}") for path, parts in _groups(call.result)]

    def _comparison(self, actual: str, name: str, expected: Any) -> Iterator[str]:
        """Yield the lines that compare a part of a result."""
        if self._case.dropout is not None or self._is_random:
            yield f"print({actual})  # dropout draws at random, so there is no single right value"
            return
        if isinstance(expected, float):
            options = "rtol=1e-4, atol=1e-6"
            yield f"torch.testing.assert_close({actual}, {expected!r}, {options})"
            return
        if not isinstance(expected, Tensor):
            yield f"assert {actual} == {expected!r}, {actual}"
            return
        self.tensors[name] = expected
        options = "".join(f", {option}" for option in self._tolerance(expected))
        yield f"torch.testing.assert_close({actual}, case[{_quoted(name)}]{options})"

    def _tolerance(self, expected: Tensor) -> Iterator[str]:
        """Yield the tolerance if the grader allows more than torch, and `equal_nan`."""
        if bool(expected.isnan().any()):
            yield "equal_nan=True"
        if not expected.is_floating_point():
            return
        bounds = self._prepared.expected.bounds.values()
        allowed = max((float(bound.max()) for bound in bounds if bound.numel()), default=0.0)
        if math.isfinite(allowed) and allowed > _DEFAULT_ATOL.get(self._case.dtype, 0.0):
            relative = 1.6e-2 if self._case.dtype == "bfloat16" else 1e-4
            yield f"rtol={relative:g}, atol={allowed:.1e}"

    def _arguments(
        self, callable_name: str, positional: tuple[Any, ...], named: Mapping[str, Any], number: int
    ) -> str:
        """Return the arguments of a call as the learner's file takes them.

        If the learner's arguments have other names, all arguments are passed by position.
        """
        signature = self._signature(self._repro.signatures, callable_name)
        if signature is not None and named:
            names = [parameter.name for parameter in signature.parameters]
            given = dict(zip(names, positional, strict=False)) | dict(named)
            last = max(names.index(name) for name in given if name in names)
            defaults = {parameter.name: parameter.default for parameter in signature.parameters}
            positional = tuple(given.get(name, defaults[name]) for name in names[: last + 1])
            named = {name: value for name, value in given.items() if name not in names}
        names = self._parameter_names(callable_name)
        names += [f"argument {place}" for place in range(len(names), len(positional))]
        words = [
            self._expression(value, names[place], number) for place, value in enumerate(positional)
        ]
        words += [
            f"{name}={self._expression(value, name, number)}" for name, value in named.items()
        ]
        return ", ".join(words)

    def _signature(self, signatures: Sequence[Signature], name: str) -> Signature | None:
        """Return the signature of a function, of the class, or of a method of the class."""
        entry = self._repro.case_set.challenge.entry[0]
        names = (name, f"{entry}.{name}")
        return next((found for found in signatures if found.name in names), None)

    def _parameter_names(self, callable_name: str) -> list[str]:
        signature = self._signature(self._repro.case_set.content.signatures, callable_name)
        return [] if signature is None else [found.name for found in signature.parameters]

    def _expression(self, value: Any, name: str, number: int) -> str:
        """Return the Python expression of an argument. A new tensor is stored in the file."""
        if isinstance(value, Tensor):
            for tensor, expression in self._names:
                if tensor is value:
                    return expression
            key = f"{name} of call {number}"
            self.tensors[key] = value
            return f"case[{_quoted(key)}]"
        if isinstance(value, tuple | list):
            for known, expression in self._results:
                if len(known) == len(value) and all(map(operator.is_, known, value)):
                    return expression
            parts = [
                self._expression(part, f"{name}[{index}]", number)
                for index, part in enumerate(value)
            ]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if value is self._recorded.module and value is not None:
            return "module"
        if value is None or isinstance(value, bool | int | float | str | torch.dtype):
            return repr(value)
        return self._object(value, name)

    def _object(self, value: Any, name: str) -> str:
        """Return the variable of an object. The first use writes the line that makes the object.

        The object must have a Python expression as its `repr`.

        Raises:
            DrillError: if it has not.
        """
        for known, variable in self._objects:
            if known is value:
                return variable
        try:
            ast.parse(repr(value), mode="eval")
        except SyntaxError:
            number, challenge = self._repro.case_number, self._repro.case_set.challenge
            raise DrillError(
                f"Case {number} of {challenge.id} calls the answer with {name}, an object of the "
                "grader that a script cannot make. `attn-drill trace` shows the values of the case."
            ) from None
        variable = _variable(name, {taken for _, taken in (*self._names, *self._objects)})
        self._write("", f"{variable} = {value!r}")
        self._objects.append((value, variable))
        return variable


def _groups(value: Any, path: str = "") -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield every tuple and list in a result, with its path."""
    if isinstance(value, tuple | list):
        yield path, value
        for index, part in enumerate(value):
            yield from _groups(part, f"{path}[{index}]")


def _quoted(text: str) -> str:
    """Return a string literal, in double quotes if possible."""
    return json.dumps(text) if text.isascii() and text.isprintable() else repr(text)


def _imports(file: Path, names: list[str]) -> Iterator[str]:
    is_importable = file.stem.isidentifier() and not keyword.iskeyword(file.stem)
    if not is_importable:
        yield "import importlib.util"
        yield ""
    yield "import torch"
    yield "from safetensors.torch import load_file"
    yield ""
    if is_importable:
        yield f"from {file.stem} import {', '.join(names)}"
        return
    yield f'spec = importlib.util.spec_from_file_location("answer", {_quoted(str(file))})'
    yield "answer = importlib.util.module_from_spec(spec)"
    yield "spec.loader.exec_module(answer)"
    for name in names:
        yield f"{name} = answer.{name}"


def _variable(name: str, taken: set[str]) -> str:
    """Return a variable for an input: its name, without brackets."""
    variable = re.sub(r"\W+", "_", name).strip("_")
    if not variable.isidentifier() or keyword.iskeyword(variable) or variable in _TAKEN:
        variable = f"given_{variable}"
    while variable in taken:
        variable += "_"
    return variable


_TAKEN = frozenset(("case", "module", "weights", "torch", "load_file", "out"))


def _laid_out(tensor: Tensor, layout: str | None) -> str:
    """Return the calls that give a loaded tensor the memory layout of the case."""
    if layout == "expanded":
        return "[:1].expand(" + ", ".join(map(str, tensor.shape)) + ")  # all items share memory"
    if layout == "transposed" and tensor.dim() > 2:
        order = ", ".join(map(str, [*reversed(range(tensor.dim() - 1)), tensor.dim() - 1]))
        return f".permute({order}).contiguous().permute({order})  # not contiguous in memory"
    if layout in ("transposed", "strided") and tensor.dim():
        return ".repeat_interleave(2, dim=-1)[..., ::2]  # not contiguous in memory"
    return ""


def _in_docstring(text: str) -> str:
    """Return a text that cannot end a docstring or begin an escape."""
    return text.replace("\\", "/").replace('"""', "'''").strip('"')


def _folded(text: str, width: int = 88) -> list[str]:
    """Return a text in lines of this width."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def repro(
    grader: Grader,
    challenge: Challenge,
    submission: Submission,
    seed: int,
    case_number: int | None = None,
) -> Repro | None:
    """Return the case that a report would explain, or a chosen case; None if no case fails.

    Args:
        grader: runs the submission.
        challenge: the challenge that the submission answers.
        submission: the learner's file.
        seed: of the cases.
        case_number: the chosen case, from 1; None for the explained case.

    Raises:
        DrillError: if there is no such case, or no single case fails.
    """
    case_set = grader.case_set(challenge, seed)
    index_of_case(case_set, case_number)
    judgement, report = explained(grader, case_set, submission, None)
    failure = report.first_failure()
    chosen = case_number or (failure.number if failure is not None else None)
    if chosen is None and failure is not None:
        raise DrillError(
            f"{challenge.id}: {failure.check} does not fail in a particular case "
            f"({failure.message}), so there is no case to step through."
        )
    if chosen is None:
        return None
    return repro_of_case(judgement, chosen, seed)


def repro_of_case(judgement: Judgement, chosen: int, seed: int) -> Repro:
    """Return a case of a judged submission.

    Args:
        judgement: the judged submission.
        chosen: the number of the case, from 1.
        seed: of the cases.
    """
    case_set, comparison = judgement.case_set, judgement.comparison
    assignment = {path: tuple(roles) for path, roles in judgement.assignment.items()}
    has_other_names = any(other_names(comparison))
    signatures = tuple(case_set.content.signatures) if has_other_names else ()
    result = next((found for found in comparison.results if found.number == chosen), None)
    own_shapes = {} if result is None else result.reply.parameters
    failed = next(
        (
            outcome
            for outcome in judgement.report.outcomes
            if outcome.status == "failed" and outcome.number == chosen
        ),
        None,
    )
    check, message = (failed.check, failed.message) if failed is not None else ("", "")
    return Repro(
        case_set,
        chosen,
        seed,
        assignment,
        {name: tuple(shape) for name, shape in own_shapes.items()},
        signatures,
        check,
        message,
    )
