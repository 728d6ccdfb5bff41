"""Tests of `attn_drill.classroom`."""
