"""Floor 0: the words of the project."""
