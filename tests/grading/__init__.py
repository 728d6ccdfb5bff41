"""Tests of `attn_drill.grading`."""
