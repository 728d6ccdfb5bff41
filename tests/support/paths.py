"""Folders that tests read from."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SOURCE = ROOT / "trainer"  # the entry of `sys.path` with the package
PACKAGE = SOURCE / "attn_drill"
TINY_PACK = TESTS / "packs" / "tiny"
