"""The case kit: what a `cases.py` is written with.

`CaseMaker` turns names and sizes into cases, `suites`, `caches` and `positions` offer the hard
cases that challenges share, and `refusals` holds constructor arguments that must be refused.
`challenges/gqa/cases.py` is a good example to start from.
"""

from trainer.casekit import caches, positions, suites
from trainer.casekit.bad_sizes import bad_groups, bad_heads
from trainer.casekit.caches import CachedMaker
from trainer.casekit.draw import Draw
from trainer.casekit.maker import CaseMaker, Second
from trainer.casekit.positions import RotaryMaker
from trainer.casekit.roles import Direct, Projected
from trainer.casekit.scores import Scores
from trainer.model.case import Case, Refusal

__all__ = [
    "CachedMaker",
    "Case",
    "CaseMaker",
    "Direct",
    "Draw",
    "Projected",
    "Refusal",
    "RotaryMaker",
    "Scores",
    "Second",
    "bad_groups",
    "bad_heads",
    "caches",
    "positions",
    "suites",
]
