"""Tests of `trainer.cli`."""
