"""Tests of `attn_drill.app`."""
