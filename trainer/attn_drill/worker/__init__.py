"""The worker process that runs a submission, and the fork server that starts workers."""
