"""Sign of the mean, and how many entries are above 0."""


def sign_of(x):
    """X of any shape -> "minus" or "plus"."""
    return "minus" if x.mean() < 0 else "plus"


def positive(x):
    """X of any shape -> int."""
    return int((x > 0).sum())
