"""The case kit: tools for authors of packs who write a `cases.py`.

`CaseMaker` turns names and sizes into cases. `suites`, `caches` and `positions` offer the hard
cases that many challenges share. `bad_heads` and `bad_groups` yield constructor arguments that must
be refused. `realistic_call` describes the call that is measured after a pass.
`challenges/gqa/cases.py` is a good example to start from.
"""

from trainer.casekit import caches, positions, suites
from trainer.casekit.bad_sizes import bad_groups, bad_heads
from trainer.casekit.blocks import TokenMaker, own_scores_far_below_zero, small_hidden
from trainer.casekit.caches import CachedMaker
from trainer.casekit.draw import Draw
from trainer.casekit.maker import CaseMaker, SecondCall
from trainer.casekit.positions import RotaryMaker
from trainer.casekit.realistic import realistic_call, shaped
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
    "SecondCall",
    "TokenMaker",
    "bad_groups",
    "bad_heads",
    "caches",
    "own_scores_far_below_zero",
    "positions",
    "realistic_call",
    "shaped",
    "small_hidden",
    "suites",
]
