"""The case kit: tools for authors of packs who write a `cases.py`.

`CaseMaker` turns names and sizes into cases. `suites`, `caches` and `positions` offer the hard
cases that many challenges share. `bad_heads` and `bad_groups` yield constructor arguments that must
be refused. `realistic_call` describes the call that is measured after a pass.
`challenges/gqa/cases.py` is a good example to start from.
"""

from attn_drill.casekit import caches, positions, suites
from attn_drill.casekit._maker import (
    CaseMaker,
    Scores,
    SecondCall,
    TokenMaker,
    bad_groups,
    bad_heads,
    own_scores_far_below_zero,
    realistic_call,
    shape,
    shaped,
    small_hidden,
)
from attn_drill.casekit._roles import HUGE, Direct, Projected
from attn_drill.casekit.caches import CachedMaker
from attn_drill.casekit.draw import Draw
from attn_drill.casekit.dropout import TURNS, dropout_factors, dropout_in_turn, equal_along
from attn_drill.casekit.positions import RotaryMaker
from attn_drill.model.case import Case, Refusal

__all__ = [
    "HUGE",
    "TURNS",
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
    "dropout_factors",
    "dropout_in_turn",
    "equal_along",
    "own_scores_far_below_zero",
    "positions",
    "realistic_call",
    "shape",
    "shaped",
    "small_hidden",
    "suites",
]
