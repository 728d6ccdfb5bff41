"""Colours: blue is right, orange is wrong. They add to words and never replace them."""

RIGHT, WRONG, QUIET = "dodger_blue1", "dark_orange", "dim"
