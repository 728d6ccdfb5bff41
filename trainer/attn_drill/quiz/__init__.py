"""Draw and judge the questions of the question bank."""
