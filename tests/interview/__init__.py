"""Tests of `trainer.interview`."""
