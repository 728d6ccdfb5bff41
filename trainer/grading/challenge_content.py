"""Load what a challenge's folders hold for grading: `cases.py` with its `drive`, and the reference.

Both are trusted content of a pack. Load them only after the fork server has been started: from then on
the reference is in this process's memory.
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
    """Execute trusted content as a module and return its names.

    Raises:
        PackError: if the content raises.
    """
    module = types.ModuleType(name)
    module.__file__ = path
    before = sys.modules.get(name)
    sys.modules[name] = module  # a dataclass looks its own module up
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

    cases_path        the path of cases.py, for messages
    names             what cases.py defines
    drive_source      `drive` and what it needs to run, as source
    reference         what the reference defines
    reference_source  the reference's text
    signatures        the contract's callables
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
        """Return the function that calls an implementation in a case."""
        drive: Drive = self.names["drive"]
        return drive

    def draw_cases(self, draw: Draw) -> tuple[Case, ...]:
        """Return the cases that cases.py makes from a source of random values.

        Raises:
            PackError: if cases.py raises.
        """
        try:
            return tuple(self.names["cases"](draw))
        except Exception as error:
            raise PackError(
                f"{self.cases_path}: cases() raises {type(error).__name__}: {error}."
            ) from error

    def refusals(self) -> tuple[Refusal, ...]:
        """Return the constructor arguments that must be refused."""
        return tuple(self.names["refusals"]()) if "refusals" in self.names else ()


def load_content(challenge: Challenge) -> Content:
    """Load the cases and the reference of a challenge.

    Raises:
        PackError: if they cannot be loaded, or if cases.py lacks `cases` or `drive`.
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
