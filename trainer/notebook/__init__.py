"""Floor 6: `check` for live classes in notebooks."""
