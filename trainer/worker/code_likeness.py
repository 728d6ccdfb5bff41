"""Tell a copy of one of torch's long functions from code that only does the same.

Code is compared as a sequence of steps, which are simplified bytecode instructions. Operations,
attributes and constants count. Names of local and global variables, positions of constants, line
numbers and the name of the function do not count. A copy shares most of its runs of eight steps
with the original. Code that somebody writes anew shares far fewer.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable
from functools import cache
from types import CodeType

_RUN = 8  # steps
# The fewest steps of an original and of a copy. Shorter code has no more in common with an original
# than all attention has.
_FEWEST = 60
_SHARE = 0.6  # of the runs of the shorter of the two codes
_FEWEST_ATTRIBUTES = 4
_SHARE_OF_ATTRIBUTES = 0.3  # a copy shares far more of them, because attributes are among the steps
_NO_STEPS = frozenset(
    "CACHE RESUME NOP PRECALL EXTENDED_ARG MAKE_CELL COPY_FREE_VARS PUSH_NULL".split()
)
_VARIABLES = ("FAST", "DEREF", "GLOBAL", "NAME", "CLOSURE")


class Originals:
    """The functions of torch that a submission may not copy."""

    def __init__(self, codes: Iterable[CodeType]) -> None:
        # Decoding takes long, so the fork server does it once for all its workers.
        decoded = [list(dis.get_instructions(code)) for code in codes if _length(code) >= _FEWEST]
        self._attributes = [_attributes_of(instructions) for instructions in decoded]
        self._runs = [_runs_of(instructions) for instructions in decoded]

    def __len__(self) -> int:
        return len(self._runs)

    def is_copy(self, code: CodeType) -> bool:
        """Return if the code is a copy of an original, or of a long part of an original."""
        return self.likeness(code) >= _SHARE

    def likeness(self, code: CodeType) -> float:
        """Return the largest share of runs, from 0 to 1, that the code shares with an original."""
        names = frozenset(code.co_names)
        # Compare attribute names first. Decoding takes long, and the import of a part of torch
        # brings forty thousand functions.
        candidates = [
            index
            for index, attributes in enumerate(self._attributes)
            if len(attributes & names)
            >= max(_FEWEST_ATTRIBUTES, _SHARE_OF_ATTRIBUTES * min(len(attributes), len(names)))
        ]
        if not candidates or _length(code) < _FEWEST:
            return 0.0
        found = runs_of(code)
        return max(
            len(found & runs) / max(min(len(found), len(runs)), _FEWEST - _RUN)
            for runs in (self._runs[index] for index in candidates)
        )


def nested_in(code: CodeType) -> list[CodeType]:
    """Return the code of functions, classes and comprehensions that are defined in some code."""
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def runs_of(code: CodeType) -> frozenset[tuple[str, ...]]:
    """Return all runs of eight steps of the code, without the code that is nested in it."""
    return _runs_of(dis.get_instructions(code))


def _runs_of(instructions: Iterable[dis.Instruction]) -> frozenset[tuple[str, ...]]:
    steps = [
        _step(instruction) for instruction in instructions if instruction.opname not in _NO_STEPS
    ]
    return frozenset(tuple(steps[start : start + _RUN]) for start in range(len(steps) - _RUN + 1))


def _attributes_of(instructions: Iterable[dis.Instruction]) -> frozenset[str]:
    """Return the names of the attributes that the code reads or calls."""
    return frozenset(
        instruction.argval
        for instruction in instructions
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")
    )


def _length(code: CodeType) -> int:
    """Return an upper bound of the number of steps, without decoding the code."""
    return len(code.co_code) // 2


def _step(instruction: dis.Instruction) -> str:
    kind = _kind_of(instruction.opname)
    if (
        kind != "constant"
        and instruction.opcode not in dis.hasname
        and instruction.opcode not in dis.hascompare
    ):
        return kind
    if kind in ("load", "store", "delete"):
        return kind
    value = instruction.argval
    return kind if isinstance(value, CodeType) else f"{kind} {value!r}"


@cache
def _kind_of(opname: str) -> str:
    """Return the kind of a step. All ways to read a variable are the same kind."""
    if opname in ("LOAD_CONST", "RETURN_CONST", "LOAD_SMALL_INT"):
        return "constant"
    for verb in ("LOAD", "STORE", "DELETE"):
        if opname.startswith(f"{verb}_") and any(kind in opname for kind in _VARIABLES):
            return verb.lower()
    return "load attribute" if opname == "LOAD_METHOD" else opname
