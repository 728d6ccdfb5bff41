"""Tests of `attn_drill.interview`."""
