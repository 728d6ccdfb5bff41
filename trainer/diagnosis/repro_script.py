"""Write one case as a standalone script.

Inputs and weights are in a file, and the script calls the learner's module on them.
"""

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
    """Everything that a script needs to run one case.

    Attributes:
        case_set: the cases.
        case_number: the case to run, from 1.
        seed: of the cases.
        assignment: the roles of every layer of the learner, by path.
        signatures: of the contract, if the learner's arguments have other names; else ().
    """

    case_set: CaseSet
    case_number: int
    seed: int
    assignment: Mapping[str, tuple[str, ...]]
    signatures: tuple[Signature, ...] = ()

    @property
    def _prepared(self) -> PreparedCase:
        return self.case_set.prepared[self.case_number - 1]

    def tensors(self) -> bytes:
        """Return the safetensors file of inputs and weights, as `input NAME` and `weight NAME`."""
        inputs = {f"input {name}": value for name, value in leaves(self._prepared.inputs)}
        weights = {f"weight {name}": value for name, value in self._prepared.parameters.items()}
        return save(
            {name: value.contiguous().clone() for name, value in (inputs | weights).items()}
        )

    def script(self, file: Path, tensors: Path) -> str:
        """Return the text of the script.

        Args:
            file: the learner's file.
            tensors: the file of `Repro.tensors`.
        """
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
            f'"""Case {self.case_number} of {challenge.id} ({case.name}), seed {self.seed}: '
            "your file on the inputs and weights that the grader gave it.",
            "",
            "Set a breakpoint in your file and run this script in any debugger, "
            "or paste it into a notebook.",
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
            f'drive = runpy.run_path({self.case_set.content.cases_path!r})["drive"]'
            "  # the way the grader calls your file",
            *self._names(),
            "",
            "inputs = {",
            given,
            "}",
            f"layout = {dict(case.layout)!r}",
            "inputs = map_leaves(inputs, lambda name, tensor: "
            'lay_out(tensor, layout.get(name.partition("[")[0])))',
        ]
        if module:
            called = f"{list(challenge.entry)!r}, {dict(case.init)!r}"
            made = f"torch.{case.dtype}, {case.mode!r}{more}"
            lines += [
                f"# {challenge.entry[0]}({arguments}), {case.dtype}, {case.mode} mode",
                f"implementation = build(vars(yours), {challenge.kind!r}, {called}, {made})",
                'given_weights = {name.removeprefix("weight "): value '
                'for name, value in tensors.items() if name.startswith("weight ")}',
                "contract = layer_matching.contract_of("
                "{name: tuple(value.shape) for name, value in given_weights.items()})",
                f"weights.load(implementation, contract, {dict(self.assignment)!r}, given_weights)",
            ]
        else:
            lines += [
                f"implementation = build(vars(yours), {challenge.kind!r}, "
                f"{list(challenge.entry)!r}, {{}}, torch.{case.dtype}, {case.mode!r}{more})"
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
            "SIGNATURES = [  # the names of the contract; your arguments are matched by position",
            *(f"    {signature!r}," for signature in self.signatures),
            "]",
            f"drive = adapted(drive, {list(self.case_set.challenge.entry)!r}, SIGNATURES)",
        ]


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
    judgement = grader.judge(case_set, submission)
    failure = judgement.report.first_failure()
    chosen = case_number or (failure.number if failure is not None else None)
    if chosen is None and failure is not None:
        raise DrillError(
            f"{challenge.id}: {failure.check} does not fail in a particular case "
            f"({failure.message}), so there is no case to step through."
        )
    if chosen is None:
        return None
    assignment = {path: tuple(roles) for path, roles in judgement.assignment.items()}
    has_other_names = any(other_names(judgement.comparison))
    signatures = tuple(case_set.content.signatures) if has_other_names else ()
    return Repro(case_set, chosen, seed, assignment, signatures)


def _literal(name: str, value: Any) -> str:
    """Return the Python expression of an input. A tensor is looked up in the file."""
    if isinstance(value, Tensor):
        return f"tensors[{'input ' + name!r}]"
    if isinstance(value, tuple | list):
        parts = [
            f"tensors[{f'input {name}[{index}]'!r}]" if isinstance(item, Tensor) else repr(item)
            for index, item in enumerate(value)
        ]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return repr(value)
