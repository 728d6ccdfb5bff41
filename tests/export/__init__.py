"""Tests of `trainer.export`."""
