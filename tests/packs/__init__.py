"""Tests of `trainer.packs`."""
