"""An attempt, as the journal stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trainer.model.checks import Status, Verdict


@dataclass(frozen=True)
class Attempt:
    """One graded attempt, as the journal stores it."""

    challenge: str
    when: float
    seed: int
    verdict: Verdict
    checks_passed: int
    checks_total: int
    source: str
    # Each check that was due, with its status.
    checks: Mapping[str, Status] = field(default_factory=dict)
    # Working time since `start` wrote the stub; None if `start` never wrote one.
    seconds: float | None = None
    hints: int = 0  # the highest level of hint that was shown since then
    solution: bool = False  # True if the reference was shown
    # The mode in which the attempt was made.
    purpose: Literal["practice", "review", "interview", "hunt"] = "practice"
    # Ids of the known mistakes that were named. The search for mistakes may add them after the
    # verdict.
    mistakes: tuple[str, ...] = ()
