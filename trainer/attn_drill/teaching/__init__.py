"""Teach after a pass: measured notes on the answer, and the other right answers of the pack."""
