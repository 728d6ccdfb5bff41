"""Tests of `attn_drill.cli`."""
