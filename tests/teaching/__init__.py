"""Tests of `attn_drill.teaching`."""
