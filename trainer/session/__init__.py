"""Floor 6: the screens of a practice session and of the menu."""
