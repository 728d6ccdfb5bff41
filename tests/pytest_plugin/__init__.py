"""Tests of `attn_drill.pytest_plugin`."""
