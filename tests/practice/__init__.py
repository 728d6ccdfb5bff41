"""Tests of `trainer.practice`."""
