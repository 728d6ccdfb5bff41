"""Floor 4: what the learner did, kept."""
