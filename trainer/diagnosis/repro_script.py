"""One case as a script of its own: its inputs and weights in a file, and the learner's module called on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from trainer.grading.case_set import CaseSet
from trainer.grading.checks_load import other_names
from trainer.grading.grader import Grader, index_of_case
from trainer.grading.prepared_case import PreparedCase
from trainer.model.challenge import Challenge, Signature
from trainer.model.errors import DrillError
from trainer.model.submission import Submission
from trainer.worker.execution import leaves

MARK = "# Written by `attn-drill repro`; run it again and it is written anew."


@dataclass(frozen=True)
class Repro:
    """What goes into one case. `assignment`: which of the learner's layers holds which roles."""

    case_set: CaseSet
    number: int
    seed: int
    assignment: Mapping[str, tuple[str, ...]]
    signatures: tuple[
        Signature, ...
    ] = ()  # the contract's, if the learner's arguments have other names

    @property
    def _prepared(self) -> PreparedCase:
        return self.case_set.prepared[self.number - 1]

    def tensors(self) -> bytes:
        """Inputs and weights in the format of safetensors, as `input NAME` and `weight NAME`."""
        inputs = {f"input {name}": value for name, value in leaves(self._prepared.inputs)}
        weights = {f"weight {name}": value for name, value in self._prepared.parameters.items()}
        return save(
            {name: value.contiguous().clone() for name, value in (inputs | weights).items()}
        )

    def script(self, file: Path, tensors: Path) -> str:
        """The script that calls the learner's `file` on `tensors`."""
        case, challenge = self._prepared.case, self.case_set.challenge
        module = challenge.kind == "module"
        more = ", SIGNATURES" if self.signatures else ""
        arguments = ", ".join(f"{name}={value!r}" for name, value in case.init.items())
        given = "\n".join(
            f"    {name!r}: {_literal(name, value)},"
            for name, value in self._prepared.inputs.items()
        )
        lines = [
            MARK,
            f'"""Case {self.number} of {challenge.id} ({case.name}), seed {self.seed}: your file on the inputs and weights that the grader gave it.',
            "",
            "Set a breakpoint in your file and run this under any debugger, or paste it into a notebook.",
            '"""',
            "",
            "import importlib.util",
            "import runpy",
            "",
            "import torch",
            "from safetensors.torch import load_file",
            "",
            *(["from trainer.worker import layer_matching, weights"] if module else []),
            *(
                ["from trainer.model.challenge import Parameter, Signature"]
                if self.signatures
                else []
            ),
            *(["from trainer.worker.arguments import adapted"] if self.signatures else []),
            "from trainer.worker.execution import Given, build, lay_out, map_leaves",
            "",
            f"FILE = {str(file)!r}",
            f"tensors = load_file({str(tensors)!r})",
            f'spec = importlib.util.spec_from_file_location("{file.stem}", FILE)',
            "yours = importlib.util.module_from_spec(spec)",
            "spec.loader.exec_module(yours)",
            f'drive = runpy.run_path({self.case_set.content.cases_path!r})["drive"]  # how the grader calls it',
            *self._names(),
            "",
            "inputs = {",
            given,
            "}",
            f"layout = {dict(case.layout)!r}",
            'inputs = map_leaves(inputs, lambda name, tensor: lay_out(tensor, layout.get(name.partition("[")[0])))',
        ]
        if module:
            called = f"{list(challenge.entry)!r}, {dict(case.init)!r}"
            made = f"torch.{case.dtype}, {case.mode!r}{more}"
            lines += [
                f"# {challenge.entry[0]}({arguments}), {case.dtype}, {case.mode} mode",
                f"implementation = build(vars(yours), {challenge.kind!r}, {called}, {made})",
                'given_weights = {name.removeprefix("weight "): value for name, value in tensors.items() if name.startswith("weight ")}',
                "contract = layer_matching.contract_of({name: tuple(value.shape) for name, value in given_weights.items()})",
                f"weights.load(implementation, contract, {dict(self.assignment)!r}, given_weights)",
            ]
        else:
            lines += [
                f"implementation = build(vars(yours), {challenge.kind!r}, {list(challenge.entry)!r}, {{}}, torch.{case.dtype}, {case.mode!r}{more})"
            ]
        lines += [
            "",
            "with torch.no_grad():",
            f"    outputs = drive(implementation, Given(inputs, {dict(case.sizes)!r}))",
            "for name, value in outputs.items():",
            '    print(name, tuple(value.shape) if isinstance(value, torch.Tensor) else "")',
            "    print(value)",
        ]
        return "\n".join(lines) + "\n"

    def _names(self) -> list[str]:
        """Return the lines that let `drive` call arguments with other names."""
        if not self.signatures:
            return []
        return [
            "SIGNATURES = [  # the contract's names; yours are taken by their places",
            *(f"    {signature!r}," for signature in self.signatures),
            "]",
            f"drive = adapted(drive, {list(self.case_set.challenge.entry)!r}, SIGNATURES)",
        ]


def repro(
    grader: Grader, challenge: Challenge, submission: Submission, seed: int, only: int | None = None
) -> Repro | None:
    """Return the case that a report would explain, or the case `only`; None if nothing fails.

    Args:
        only: the number of a case, from 1.

    Raises:
        DrillError: if there is no such case, or no single case fails.
    """
    case_set = grader.case_set(challenge, seed)
    index_of_case(case_set, only)
    judgement = grader.judge(case_set, submission)
    failure = judgement.report.first_failure()
    number = only or (failure.number if failure is not None else None)
    if number is None and failure is not None:
        raise DrillError(
            f"{challenge.id}: {failure.check} fails in no single case ({failure.message}); "
            "there is nothing to step through."
        )
    if number is None:
        return None
    assignment = {path: tuple(roles) for path, roles in judgement.assignment.items()}
    has_other_names = any(other_names(judgement.comparison))
    signatures = tuple(case_set.content.signatures) if has_other_names else ()
    return Repro(case_set, number, seed, assignment, signatures)


def _literal(name: str, value: Any) -> str:
    """Python for an input: a tensor by its name in the file."""
    if isinstance(value, Tensor):
        return f"tensors[{'input ' + name!r}]"
    if isinstance(value, tuple | list):
        parts = [
            f"tensors[{f'input {name}[{index}]'!r}]" if isinstance(one, Tensor) else repr(one)
            for index, one in enumerate(value)
        ]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return repr(value)
