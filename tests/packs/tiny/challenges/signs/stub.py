def sign_of(x):
    """X of any shape -> "minus" or "plus"."""
    raise NotImplementedError


def positive(x):
    """X of any shape -> int."""
    raise NotImplementedError
