"""Floor 1: find and read packs of challenges. No torch."""
