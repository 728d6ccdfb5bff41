"""Many submissions: collect, grade in parallel or on a cluster, resume, summarise. Knows no screen and no format but its own results."""
