"""The command line: the commands by theme, and what they share."""
