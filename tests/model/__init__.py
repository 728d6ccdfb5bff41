"""Tests of `trainer.model`."""
