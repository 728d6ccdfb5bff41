"""The rules of a mock interview: its plan, its state and its score."""
