"""Run the hidden checks as tests of pytest. Without `--drill` the plugin does nothing."""
