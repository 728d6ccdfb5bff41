"""Folders that tests read from."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
TINY_PACK = TESTS / "packs" / "tiny"
