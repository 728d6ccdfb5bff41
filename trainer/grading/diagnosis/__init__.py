"""Where and why: known mistakes, the first wrong line, the effective mask, what is ruled out."""
