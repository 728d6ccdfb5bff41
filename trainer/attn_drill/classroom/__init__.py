"""Grade many submissions: collect, grade in parallel or on a cluster, resume, count points."""
