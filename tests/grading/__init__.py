"""Tests of `trainer.grading`."""
