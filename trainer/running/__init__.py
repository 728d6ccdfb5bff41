"""Floor 2: the worker process that alone runs a submission, and what it is told and tells."""
