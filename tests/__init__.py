"""Tests: folders mirror `trainer/`; `test_challenges.py` tests all content."""
