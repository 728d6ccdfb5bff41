"""Bug hunts: a reference with known mistakes to repair."""
