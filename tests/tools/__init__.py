"""Tests of `attn_drill.tools`."""
