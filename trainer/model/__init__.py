"""Records that all other packages use: challenges, cases, reports, attempts, errors. Standard library only."""
