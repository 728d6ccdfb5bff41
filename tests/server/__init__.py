"""Tests of `trainer.server`."""
