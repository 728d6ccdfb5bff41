"""The learner's journal, and what is computed from it: the schedule, statistics."""
