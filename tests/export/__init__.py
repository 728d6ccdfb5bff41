"""Tests of `attn_drill.export`."""
