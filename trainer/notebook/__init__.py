"""Floor 7: `check` for live classes in notebooks."""
