"""Tests of `trainer.worker`."""
