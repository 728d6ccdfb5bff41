"""The screens of a practice session, a mock interview and the menu."""
