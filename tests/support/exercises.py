"""Helpers for tests of the quiz and the hunt."""

from __future__ import annotations

from attn_drill.exercises.questions import pool_of
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import readable_mistakes
from attn_drill.packs.question_bank import read_bank

BUILT_IN = pack_reader.built_in_pack()
CHALLENGES = pack_reader.read_pack(BUILT_IN)
BANK = read_bank([BUILT_IN])
POOL = pool_of(BANK.questions, CHALLENGES, readable_mistakes(CHALLENGES)[0])
NAMES = [*BANK.titles, *(challenge.id for challenge in CHALLENGES)]
DAY = 86_400.0


BY_ID = {challenge.id: challenge for challenge in CHALLENGES}

SOURCE = '''"""What it is.

    a formula
"""

import math


def twice(x):
    """Shapes. # no comment"""
    # why it is so
    y = x * 2  # [B, L]

    z = "# no comment"  # [B]
    return y, z
'''
