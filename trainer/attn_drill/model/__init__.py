"""Records that all other packages use: challenges, cases, checks, reports and errors.

This package imports the standard library only.
"""
