"""Floor 7: the hidden checks as tests of pytest. Without its option it does nothing."""
