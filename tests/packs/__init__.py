"""Tests of `attn_drill.packs`."""
