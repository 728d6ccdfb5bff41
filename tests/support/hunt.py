"""Challenges and a small reference for tests of the bug hunt."""

from attn_drill.packs import pack_reader

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())

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
