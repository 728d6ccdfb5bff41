"""Load the `cases.py` and the reference of a challenge, cut out `drive`, run the example.

A worker process calls the learner's code through `drive`. A submission can read all memory of its
worker, so the rest of `cases.py` (cases, names of cases, comments) must not get into the worker.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import sys
import traceback
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from attn_drill.casekit.draw import Draw
from attn_drill.model.case import Case, Refusal
from attn_drill.model.challenge import Challenge, Signature
from attn_drill.model.errors import PackError
from attn_drill.packs.pack_reader import read_text, signatures, solution
from attn_drill.worker.execution import Drive

ENTRY = "drive"

_MOST_TEXT = 300  # letters of an exception's message
# Ends a sentence about a mistake in a pack that does not say how to correct it.
CORRECT = "Correct this, then run `attn-drill pack check` again."


def drive_source(source: str, path: str) -> str:
    """Return source with `drive` and all that it needs of `cases.py`, without comments."""
    statements = list(ast.parse(source, path).body)
    makers: dict[str, list[int]] = {}
    for index, statement in enumerate(statements):
        for name in _bound(statement):
            makers.setdefault(name, []).append(index)
    if ENTRY not in makers:
        raise PackError(
            f"{path} defines no `{ENTRY}` at its top level. "
            f"Define `def {ENTRY}(implementation, given)`."
        )
    needed: set[int] = set()
    waiting = list(makers[ENTRY])
    while waiting:
        index = waiting.pop()
        if index in needed:
            continue
        needed.add(index)
        for node in ast.walk(statements[index]):
            if isinstance(node, ast.Name):  # global or local
                waiting += makers.get(node.id, [])
    kept = [_without_docstrings(statements[index]) for index in sorted(needed)]
    return ast.unparse(ast.Module(body=kept, type_ignores=[])) + "\n"


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _without_docstrings(statement: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return statement


@contextmanager
def authors_code(doing: str, *paths: str) -> Iterator[None]:
    """Turn every exception of a pack's code into a PackError; see `in_authors_words`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise PackError(in_authors_words(error, doing, *paths)) from error


def in_authors_words(error: BaseException, doing: str, *paths: str) -> str:
    """Return a sentence about an exception of a pack's code, with the file and the line.

    Args:
        doing: the action, for example "cases() raises".
        paths: the files of the pack whose code ran. Without a line, the first is named.
    """
    place = _place(error, paths) or paths[0]
    if isinstance(error, PackError):  # of the case kit: its text is a sentence with the next step
        return f"{place}: {error}"
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    text = (message.strip().splitlines() or [""])[0][:_MOST_TEXT]
    reason = f"{type(error).__name__}: {text}".rstrip(" :.")
    return f"{place}: {doing} {reason}. {CORRECT}"


def raised_in(error: BaseException, doing: str, *paths: str) -> str:
    """Return the sentence of `in_authors_words` if a line of these files raised, else ""."""
    return in_authors_words(error, doing, *paths) if _place(error, paths) else ""


def _place(error: BaseException, paths: Sequence[str]) -> str:
    """Return the innermost line in one of these files that an exception passed; "" if none."""
    if isinstance(error, SyntaxError) and error.filename in paths:
        return f"{error.filename}, line {error.lineno}"
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename in paths:
            place = f"{frame.f_code.co_filename}, line {line}"
    return place


def load_module(name: str, path: str, source: str) -> dict[str, Any]:
    """Execute trusted source as a module and return the names that the module defines."""
    module = types.ModuleType(name)
    module.__file__ = path
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses look up the module of a class in sys.modules
    try:
        with authors_code("the file cannot be loaded:", path):
            exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    finally:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
    return module.__dict__


@dataclass(frozen=True, eq=False)
class Content:
    """The cases and the reference of one challenge."""

    challenge: Challenge
    cases_path: str
    names: Mapping[str, Any]  # the names that `cases.py` defines
    drive_source: str  # the source of `drive` and of everything `drive` needs to run
    reference: Mapping[str, Any]  # the names that the reference defines
    reference_path: str
    reference_source: str
    signatures: Sequence[Signature]  # the callables of the contract

    @property
    def drive(self) -> Drive:
        """The function of `cases.py` that calls an implementation on the inputs of a case."""
        drive: Drive = self.names["drive"]
        return drive

    def draw_cases(self, draw: Draw) -> tuple[Case, ...]:
        """Return the cases that `cases.py` makes from random draws."""
        cases = self._yielded("cases", draw)
        for case in cases:
            self._require_kind("cases", case, Case)
            if case.larger is not None:
                self._require_kind("cases", case.larger, Case)
        if not cases:
            raise PackError(f"{self.cases_path}: cases() yields no case. Yield at least one.")
        return cases

    def realistic(self) -> Case | None:
        """Return the call that is measured after a pass; None if `cases.py` describes none."""
        if "realistic" not in self.names:
            return None
        with authors_code("realistic() raises", self.cases_path):
            call = self.names["realistic"]()
        if not isinstance(call, Case):
            raise PackError(
                f"{self.cases_path}: realistic() returns {_described(call)}. "
                "Return realistic_call(...)."
            )
        return call

    def training(self, draw: Draw) -> Case | None:
        """Return the small training whose loss a bug hunt shows; None if there is none."""
        if "training_run" not in self.names:
            return None
        with authors_code("training_run() raises", self.cases_path):
            case: Case = self.names["training_run"](draw)
        self._require_kind("training_run", case, Case)
        return case

    def refusals(self) -> tuple[Refusal, ...]:
        """Return the calls with bad sizes that a submission must refuse."""
        if "refusals" not in self.names:
            return ()
        refusals = self._yielded("refusals")
        for refusal in refusals:
            self._require_kind("refusals", refusal, Refusal)
            if refusal.call and refusal.call not in self.challenge.entry:
                raise PackError(
                    f"{self.cases_path}: refusals() names the call {refusal.call!r}, but `entry` "
                    f"in challenge.toml has {', '.join(self.challenge.entry)}. Name one of these."
                )
        return refusals

    def _yielded(self, name: str, *arguments: object) -> tuple[Any, ...]:
        """Return all that a function of `cases.py` yields."""
        with authors_code(f"{name}() raises", self.cases_path):
            result: object = self.names[name](*arguments)
            if isinstance(result, Iterator | tuple | list):
                return tuple(result)
        raise PackError(
            f"{self.cases_path}: {name}() returns {_described(result)}. "
            "Write a function that yields."
        )

    def _require_kind(self, name: str, value: object, kind: type) -> None:
        if not isinstance(value, kind):
            raise PackError(
                f"{self.cases_path}: {name}() yields {_described(value)}. "
                f"Yield objects of the type {kind.__name__} only."
            )


def load_content(challenge: Challenge) -> Content:
    """Load the cases and the reference of a challenge; a PackError names what is missing."""
    path = str(challenge.folder / "cases.py")
    source = read_text(challenge.folder / "cases.py")
    names = load_module("cases", path, source)
    for name, arguments in (("cases", "draw"), ("drive", "implementation, given")):
        if not callable(names.get(name)):
            raise PackError(
                f"{path} defines no `{name}` that can be called. Define `def {name}({arguments})`."
            )
    reference_source = solution(challenge)
    reference_path = str(challenge.solutions / "solution.py")
    reference = load_module("reference", reference_path, reference_source)
    for entry in challenge.entry:
        if not callable(reference.get(entry)):
            raise PackError(
                f"{reference_path} defines no {entry}, which challenge.toml names as `entry`. "
                "Define it, or correct `entry`."
            )
    return Content(
        challenge=challenge,
        cases_path=path,
        names=names,
        drive_source=drive_source(source, path),
        reference=reference,
        reference_path=reference_path,
        reference_source=reference_source,
        signatures=signatures(challenge),
    )


def _described(value: object) -> str:
    return "None" if value is None else f"an object of the type {type(value).__name__}"


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
