"""Tests of `attn_drill.session`."""
