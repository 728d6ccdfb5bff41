"""Submissions that misbehave, and the verdicts that they must get."""
