"""Explain a failure: the line, the known mistake, the effective mask."""
