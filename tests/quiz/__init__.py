"""Tests of `attn_drill.quiz`."""
