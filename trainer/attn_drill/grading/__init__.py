"""Judge a submission: expected results, comparison, checks in order, verdict."""
