"""What the floor speaks of: submissions that came in, results that are kept, what an assignment asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from trainer.core.words import CHECK_ORDER, Status, Verdict, status_of_each

# What of a report a student is shown: all of it; verdict and checks; the verdict alone.
Shown = Literal["report", "checks", "verdict"]

# What only says that a file can be graded at all brings no points, nor does what is not there: a stub handed in again scores nothing.
WEIGHTS: Mapping[str, float] = {
    check: 0.0 if check in ("loads", "interface", "parameters", "from scratch") else 1.0
    for check in CHECK_ORDER
}


@dataclass(frozen=True)
class Submission:
    """One file that a student handed in, or the reason why there is none.

    student    as the folder, the file or the archive names them; unique within a class and challenge
    file       its place, for people: relative to the folder or inside the archive
    source     None where it cannot be had; `trouble` says why in one sentence
    modified   seconds since the epoch, where that is known
    unsettled  the places of all files that came under this name, if there are several and a person
               has to say which of them counts; then there is no source
    """

    student: str
    challenge: str
    file: str
    source: str | None
    trouble: str = ""
    modified: float | None = None
    unsettled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """One challenge of an assignment.

    weights   points of each check, relative to each other; checks that are not due for a challenge do not count
    worth     what this challenge counts among the assignment's, relative to each other
    """

    challenge: str
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    worth: float = 1.0


@dataclass(frozen=True)
class Assignment:
    """What a class was asked, and how it is graded. `due`: seconds since the epoch. `why`: whether students are told the likely mistake."""

    title: str
    asked: tuple[Asked, ...]
    seconds: float = 10.0
    memory_mib: int = 2048
    due: float | None = None
    shown: Shown = "report"
    why: bool = True


class CheckLine(msgspec.Struct, frozen=True):
    """One outcome of a report, as `check --json` has it; other keys are left as they are."""

    name: str
    status: Status
    case: str | None = None
    message: str = ""
    line: int | None = None


class NamedMistake(msgspec.Struct, frozen=True):
    """A known mistake that the diagnosis named."""

    id: str
    says: str


class Found(msgspec.Struct, frozen=True):
    """What of a diagnosis a class's report needs."""

    mistakes: list[NamedMistake] = []
    first_line: int | None = None


class Excerpt(msgspec.Struct, frozen=True):
    """A few lines of a submission, the first of them numbered `first`; `marked` is the line that is meant."""

    first: int
    marked: int
    lines: list[str]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One file of `results/`: the object of `check --json`, and what the class needs beside it.

    verdict   None where there is none: `error` says why. The submission is not to blame then
    score     0 to 100, or None where there is no verdict
    text      the report as plain text, 80 columns, without the likely mistake and without commands
    task      digest of all that decides the result; `--resume` compares it
    unsettled the files that came under one name, if a person has to say which of them counts; then
              there is no verdict, and `error` says what to do
    """

    schema: str
    student: str
    challenge: str
    file: str
    verdict: Verdict | None
    seed: int | None = None
    error: str | None = None
    checks: list[CheckLine] = []
    diagnosis: Found | None = None
    stdout: str = ""
    elapsed_seconds: float = 0.0
    score: float | None = None
    late: bool = False
    text: str = ""
    excerpt: Excerpt | None = None
    task: str = ""
    unsettled: list[str] = []

    def statuses(self) -> dict[str, Status]:
        """Return each check that was due, in order, with its status over all cases."""
        return status_of_each((line.name, line.status) for line in self.checks)

    def first_failure(self) -> CheckLine | None:
        """The outcome that the report explains, or None after a pass."""
        failed = [one for one in self.checks if one.status == "failed"]
        if self.verdict == "not-allowed":
            failed = [one for one in failed if one.name == "from scratch"] or failed
        return min(failed, key=lambda one: CHECK_ORDER.index(one.name), default=None)
