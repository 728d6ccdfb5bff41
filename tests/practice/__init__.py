"""Tests of `attn_drill.practice`."""
