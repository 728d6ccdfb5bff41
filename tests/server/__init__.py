"""Tests of `attn_drill.server`."""
