"""Open one case of the grader in this process, for a debugger or a notebook.

    case = open_case("gqa", "gqa.py", seed=5, number=7)
    outputs = case.run()
    case.compare(outputs)

Nothing confines the file here, so open only your own.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attn_drill.grading.case_set import CaseSet, load_case_set
from attn_drill.model.errors import DrillError
from attn_drill.packs.catalogue import VARIABLE, KnownPacks
from attn_drill.worker import layer_matching
from attn_drill.worker.arguments import adapted
from attn_drill.worker.case_runner import laid_out
from attn_drill.worker.execution import Given, build
from attn_drill.worker.protocol import DTYPES


class OpenCase:
    """A case with the learner's own implementation.

    Attributes:
        case: its name, sizes, constructor arguments and dtype.
        implementation: the learner's module with the weights of the case, or the function.
    """

    def __init__(self, case_set: CaseSet, namespace: Mapping[str, Any]) -> None:
        (self.case,), (self._prepared,) = case_set.cases, case_set.prepared
        self._request, self._tensors = case_set.decoded_request("grade")
        (self._run,) = self._request.runs
        request, run = self._request, self._run
        self._drive = adapted(case_set.content.drive, request.entry, request.signatures)
        names = request.kind, request.entry, run.init, DTYPES[run.dtype], run.mode
        self.implementation = build(namespace, *names, request.signatures, request.ties)
        if not isinstance(self.implementation, nn.Module) or run.initial:
            return
        values = {name: self._tensors[place] for name, place in run.parameters.items()}
        contract = layer_matching.contract_of(layer_matching.shapes_of(values))
        shapes, _ = layer_matching.parameter_names(self.implementation)
        possible = layer_matching.assignments(contract, shapes)
        if not possible:
            raise DrillError(
                "The weights of the case do not fit the parameters of your module. "
                "`attn-drill check` says why."
            )
        layer_matching.load_weights(self.implementation, contract, possible[0], values)

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs of the first call by name. A tensor is new in every run."""
        return laid_out(self._run, self._run.inputs, self._tensors)

    def run(self) -> dict[str, Any]:
        """Call the implementation as the grader does. Return its outputs by name."""
        torch.manual_seed(self._request.random_seed)
        outputs: dict[str, Any] = self._drive(
            self.implementation, Given(self.inputs, self._run.sizes)
        )
        return outputs

    def compare(self, outputs: Mapping[str, Any]) -> None:
        """Raise an AssertionError if an output differs by more than the tolerance of the case."""
        if self.case.dropout is not None:
            print("This case draws at random, so there is no single right value.")
            return
        expected = self._prepared.expected
        for name, right in expected.outputs.items():
            actual = outputs[name]
            assert isinstance(actual, Tensor), f"{name} is no tensor: {actual!r}"
            _assert_close(name, actual, right.value, expected.bounds[name])
        for name, text in expected.plain.items():
            assert str(outputs[name]) == text, f"{name} is {outputs[name]} and must be {text}"


def open_case(
    challenge: str, file: str | Path, seed: int, number: int, pack: str | Path | None = None
) -> OpenCase:
    """Return a case with the implementation in a file, which is imported here.

    Args:
        number: the number of the case, from 1.
        pack: the folder of the pack; None if the challenge is built in or installed.
    """
    named = () if pack is None else (Path(pack),)
    known_packs = KnownPacks(named, os.environ.get(VARIABLE, ""))
    case_set = load_case_set(known_packs.find(challenge), seed)
    if not 0 < number <= len(case_set.cases):
        raise DrillError(
            f"There is no case {number}; {challenge} has cases 1 to {len(case_set.cases)}."
        )
    return OpenCase(case_set.select([number - 1], alone=True), _imported(Path(file).resolve()))


def _assert_close(name: str, actual: Tensor, right: Tensor, bound: Tensor) -> None:
    """Raise an AssertionError if an entry differs from the right entry by more than its bound."""
    actual = actual.detach().to(right.dtype)
    least = 0.0
    if actual.shape == right.shape:
        wrong = ~((actual == right) | (actual.isnan() & right.isnan()))
        if right.is_floating_point():
            wrong &= ~((actual - right).abs() <= bound)
        if not bool(wrong.any()):
            return
        least = float(bound[wrong].min()) if bound.shape == wrong.shape else 0.0
    torch.testing.assert_close(
        actual, right, rtol=0.0, atol=least, equal_nan=True, msg=lambda words: f"{name}: {words}"
    )


def _imported(path: Path) -> dict[str, Any]:
    """Import a file by its path, so that a debugger knows its lines."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise DrillError(f"{path} is not a Python file. Name a file that ends with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return vars(module)
