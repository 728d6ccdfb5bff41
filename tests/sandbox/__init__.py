"""Tests of `attn_drill.sandbox`."""
