"""Tests of `trainer.teaching`."""
