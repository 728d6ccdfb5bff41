"""Tests of `attn_drill.hunt`."""
