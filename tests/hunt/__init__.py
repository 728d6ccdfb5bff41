"""Tests of `trainer.hunt`."""
