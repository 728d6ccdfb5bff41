"""Floor 7: one file a command."""
