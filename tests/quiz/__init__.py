"""Tests of `trainer.quiz`."""
