"""Tests of `trainer.classroom`."""
