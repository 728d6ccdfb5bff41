"""Tests of `trainer.tools`."""
