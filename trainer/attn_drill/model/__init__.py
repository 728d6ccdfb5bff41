"""Records that all other packages use: challenges, cases, reports, attempts and errors.

This package imports the standard library only.
"""
