"""Submissions that misbehave, and what must come of them."""
