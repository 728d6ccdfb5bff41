"""Floor 7: the screens of a practice session and of the menu."""
