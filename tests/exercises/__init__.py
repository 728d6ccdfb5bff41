"""Tests of `attn_drill.exercises`."""
