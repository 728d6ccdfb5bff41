"""The learner's journal, and the schedule and statistics that are computed from it."""
