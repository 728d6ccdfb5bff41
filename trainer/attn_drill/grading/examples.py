"""Run the worked example of a prompt, which is a doctest, on the reference."""

from __future__ import annotations

import builtins
import doctest
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class WrongExample:
    """A line of an example that gives another result than the prompt says."""

    line: int  # of the prompt, from 1
    source: str
    result: str


def wrong_examples(prompt: str, reference: Mapping[str, Any]) -> list[WrongExample]:
    """Return the lines of a prompt's example that are wrong. It may use torch and nn, too."""
    names = {"torch": torch, "nn": nn, **reference}
    # Without its fence, the last result of a block ends at an empty line.
    test = doctest.DocTestParser().get_doctest(prompt.replace("```", ""), names, "", None, 0)
    runner = _Runner()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        runner.run(test, out=lambda _: None)
    vars(builtins).pop("_", None)  # the last value that Python displayed
    return runner.wrong


class _Runner(doctest.DocTestRunner):
    """Keeps the wrong examples instead of printing them."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.wrong: list[WrongExample] = []

    def report_failure(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        source = example.source.strip().partition("\n")[0]
        result = " ".join(got.split()) or "nothing"
        self.wrong.append(WrongExample(example.lineno + 1, source, result))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        self.report_failure(out, test, example, f"{exc_info[0].__name__}: {exc_info[1]}")
