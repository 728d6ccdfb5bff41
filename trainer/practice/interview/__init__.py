"""The rules of a mock interview: its plan, the state that its events add up to, its score."""
