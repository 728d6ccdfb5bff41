"""Tests of the case kit, without worker processes."""
