"""Styles of a report. Blue is right, orange is wrong. A style never replaces a word or a symbol."""

RIGHT, WRONG, QUIET = "dodger_blue1", "dark_orange", "dim"
