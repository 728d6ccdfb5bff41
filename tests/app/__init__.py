"""Tests of `trainer.app`."""
