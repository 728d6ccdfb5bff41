"""Tests of `trainer.report`."""
