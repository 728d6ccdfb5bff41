"""An attempt, as the journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trainer.model.checks import Status, Verdict


@dataclass(frozen=True)
class Attempt:
    """One graded try, as the journal keeps it.

    checks     each check that was due, with its status
    seconds    at work since the stub was handed out, or None where it never was
    hints      the highest level of hint taken since then; solution: whether the reference was seen
    purpose    what it was for
    mistakes   ids of the known mistakes that were named; they may be told later than the verdict
    """

    challenge: str
    when: float
    seed: int
    verdict: Verdict
    checks_passed: int
    checks_total: int
    source: str
    checks: Mapping[str, Status] = field(default_factory=dict)
    seconds: float | None = None
    hints: int = 0
    solution: bool = False
    purpose: Literal["practice", "review", "interview", "hunt"] = "practice"
    mistakes: tuple[str, ...] = ()
