"""Tests of `trainer.session`."""
