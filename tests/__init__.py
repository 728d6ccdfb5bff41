"""Tests: a folder for each package; `test_challenges.py` tests all content."""
