"""Tests: folders mirror the package; `test_challenges.py` tests all content."""
