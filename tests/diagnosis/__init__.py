"""Tests of `attn_drill.diagnosis`."""
