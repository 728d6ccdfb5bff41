"""Tests of `trainer.diagnosis`."""
