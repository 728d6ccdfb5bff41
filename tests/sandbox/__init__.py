"""Tests of `trainer.sandbox`."""
