"""Tests of `trainer.pytest_plugin`."""
