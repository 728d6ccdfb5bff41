"""Load the two files of a challenge that grading needs: `cases.py` with `drive`, and the reference.

Both are trusted content of a pack. Load them only after the fork server has started: the fork
server, and so its workers, must not inherit the reference in their memory.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.casekit.draw import Draw
from trainer.grading.drive import drive_source
from trainer.model.case import Case, Refusal
from trainer.model.challenge import Challenge, Signature
from trainer.model.errors import PackError
from trainer.packs.interface import signatures
from trainer.packs.pack_reader import read_text, solution
from trainer.worker.execution import Drive


def load_module(name: str, path: str, source: str) -> dict[str, Any]:
    """Execute trusted source as a module and return the names that the module defines.

    Raises:
        PackError: if the source raises an exception.
    """
    module = types.ModuleType(name)
    module.__file__ = path
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses look up the module of a class in sys.modules
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except Exception as error:
        raise PackError(f"{path} cannot be loaded: {type(error).__name__}: {error}.") from error
    finally:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
    return module.__dict__


@dataclass(frozen=True, eq=False)
class Content:
    """The cases and the reference of one challenge.

    Attributes:
        challenge: the challenge.
        cases_path: the path of `cases.py`, for messages.
        names: the names that `cases.py` defines.
        drive_source: the source of `drive` and of everything `drive` needs to run.
        reference: the names that the reference defines.
        reference_source: the source of the reference.
        signatures: the callables of the contract.
    """

    challenge: Challenge
    cases_path: str
    names: Mapping[str, Any]
    drive_source: str
    reference: Mapping[str, Any]
    reference_source: str
    signatures: Sequence[Signature]

    @property
    def drive(self) -> Drive:
        """The function of `cases.py` that calls an implementation on the inputs of a case."""
        drive: Drive = self.names["drive"]
        return drive

    def draw_cases(self, draw: Draw) -> tuple[Case, ...]:
        """Return the cases that `cases.py` makes from random draws.

        Raises:
            PackError: if `cases()` raises an exception.
        """
        try:
            return tuple(self.names["cases"](draw))
        except Exception as error:
            raise PackError(
                f"{self.cases_path}: cases() raises {type(error).__name__}: {error}."
            ) from error

    def realistic(self) -> Case | None:
        """Return the call that is measured after a pass; None if `cases.py` describes none.

        Raises:
            PackError: if `realistic()` raises an exception, or returns no call.
        """
        if "realistic" not in self.names:
            return None
        try:
            call = self.names["realistic"]()
        except Exception as error:
            raise PackError(
                f"{self.cases_path}: realistic() raises {type(error).__name__}: {error}."
            ) from error
        if not isinstance(call, Case):
            raise PackError(f"{self.cases_path}: realistic() returns no realistic_call(...).")
        return call

    def refusals(self) -> tuple[Refusal, ...]:
        """Return the constructor arguments that a submission must refuse."""
        return tuple(self.names["refusals"]()) if "refusals" in self.names else ()


def load_content(challenge: Challenge) -> Content:
    """Load the cases and the reference of a challenge.

    Raises:
        PackError: if a file cannot be loaded, or if `cases.py` does not define `cases` or `drive`.
    """
    path = str(challenge.folder / "cases.py")
    source = read_text(challenge.folder / "cases.py")
    names = load_module("cases", path, source)
    for name in ("cases", "drive"):
        if name not in names:
            raise PackError(f"{path} defines no `{name}`.")
    reference_source = solution(challenge)
    reference_path = str(challenge.solutions / "solution.py")
    return Content(
        challenge=challenge,
        cases_path=path,
        names=names,
        drive_source=drive_source(source, path),
        reference=load_module("reference", reference_path, reference_source),
        reference_source=reference_source,
        signatures=signatures(challenge),
    )
