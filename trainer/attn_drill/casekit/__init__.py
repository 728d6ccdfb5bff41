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
from attn_drill.casekit.dropout import (
    TOGETHER,
    TURNS,
    branch_factors,
    branch_words,
    branches_apart,
    dropout_factors,
    dropout_in_turn,
    dropped_together,
)
from attn_drill.casekit.positions import RotaryMaker
from attn_drill.model.case import Case, Refusal

__all__ = [
    "HUGE",
    "TOGETHER",
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
    "branch_factors",
    "branch_words",
    "branches_apart",
    "caches",
    "dropout_factors",
    "dropout_in_turn",
    "dropped_together",
    "own_scores_far_below_zero",
    "positions",
    "realistic_call",
    "shape",
    "shaped",
    "small_hidden",
    "suites",
]
