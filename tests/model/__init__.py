"""Tests of `attn_drill.model`."""
