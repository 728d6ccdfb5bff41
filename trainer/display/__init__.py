"""Floor 5: a report as terminal text or JSON. Decides nothing."""
