"""A challenge of kind "function" that refuses bad sizes and forbids an operation of torch."""

import shutil
from pathlib import Path

from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from tests.support.paths import TINY_PACK

REFUSALS = """

def refusals():
    import torch
    from attn_drill.casekit import Refusal
    yield Refusal("x has 1 dim and needs 2", {"x": torch.zeros(3)})
    yield Refusal("x has 3 dims and needs 2", {"x": torch.zeros(2, 3, 4), "reverse": True})
"""
CHECKED = '''"""Prefix sums: out_i = x_0 + … + x_i."""

import torch


def prefix_sum(x, reverse=False):
    if x.dim() != 2:
        raise ValueError(f"x has {x.dim()} dims and needs 2")
    if reverse:
        return prefix_sum(x.flip(-1)).flip(-1)
    return torch.cumsum(x, dim=-1)
'''


def strict_pack(folder: Path, *, forbids: str = "") -> Challenge:
    """Write a pack whose challenge prefix-sum refuses tensors that have not two dims.

    Args:
        folder: the folder to write the pack into; it must not exist.
        forbids: the operation of torch that the challenge forbids.
    """
    shutil.copytree(TINY_PACK, folder)
    cases = folder / "challenges/prefix_sum/cases.py"
    cases.write_text(cases.read_text() + REFUSALS)
    (folder / "solutions/prefix_sum/solution.py").write_text(CHECKED)
    if forbids:
        toml = folder / "challenges/prefix_sum/challenge.toml"
        toml.write_text(toml.read_text() + f'forbids = ["{forbids}"]\n')
    return pack_reader.find_challenge(folder, "prefix-sum")
