"""Tests of `attn_drill.worker`."""
