"""An attempt, as the journal stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trainer.model.checks import Status, Verdict


@dataclass(frozen=True)
class Attempt:
    """One graded attempt, as the journal stores it.

    Attributes:
        checks: each check that was due, with its status.
        seconds: working time since `start` wrote the stub; None if `start` never wrote one.
        hints: the highest level of hint that was shown since then.
        solution: True if the reference was shown.
        purpose: the mode in which the attempt was made.
        mistakes: ids of the known mistakes that were named. The search for mistakes may add
            them after the verdict.
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
