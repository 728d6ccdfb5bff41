"""Copies of torch's functions are recognised, and honest code is not taken for a copy."""

import inspect
from types import CodeType

import torch.nn.functional as F

from tests.support.paths import ROOT
from trainer.worker import code_likeness, forbidden_ops
from trainer.worker.code_likeness import Originals

ORIGINAL = F.multi_head_attention_forward


def code_of(source: str) -> CodeType:
    """Return the code of the only function in a source."""
    (code,) = code_likeness.nested_in(compile(source, "answer.py", "exec"))
    return code


def test_renamed_copy_is_recognised() -> None:
    """Other names of variables and of the function do not change the likeness."""
    source = inspect.getsource(ORIGINAL)
    for name, new in (("query", "a"), ("key", "b"), ("multi_head_attention_forward", "mine")):
        source = source.replace(name, new)
    originals = Originals([ORIGINAL.__code__])
    assert originals.is_copy(code_of(source))


def test_long_part_of_a_function_is_recognised() -> None:
    """The first half of the function alone is a copy too."""
    lines = inspect.getsource(ORIGINAL).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("    # set up shape"))
    end = next(index for index, line in enumerate(lines) if line.startswith("    if need_weights"))
    body = "\n".join(lines[start:end])
    originals = Originals([ORIGINAL.__code__])
    assert originals.is_copy(code_of(f"def mine(query, key, value):\n{body}\n"))


def test_other_functions_of_torch_are_not_copies() -> None:
    """The likeness is 0 if few attributes or few steps are in common."""
    short = code_of("def short(x):\n    return x.relu()\n")
    originals = Originals([ORIGINAL.__code__, short])
    assert len(originals) == 1  # the short function is no original
    assert not originals.is_copy(F.interpolate.__code__)
    assert originals.likeness(short) == 0.0


def test_honest_files_are_not_like_torchs_code() -> None:
    """The likeness of every honest file is far below the share that makes a copy."""
    files = [*(ROOT / "solutions").rglob("*.py"), *(ROOT / "challenges").rglob("*.py")]
    codes = [compile(path.read_text(encoding="utf-8"), str(path), "exec") for path in files]
    for code in codes:
        codes += code_likeness.nested_in(code)  # the loop also visits the added codes
    found = [forbidden_ops.prepare().originals.likeness(code) for code in codes]
    assert len(forbidden_ops.prepare().originals) >= 4
    assert max(found) < 0.4
