"""Tests of `attn_drill.report`."""
