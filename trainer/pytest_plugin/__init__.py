"""The hidden checks as tests of pytest. Without its option the plugin does nothing."""
