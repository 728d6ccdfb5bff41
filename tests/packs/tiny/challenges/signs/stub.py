def sign_of(x):
    """X of any shape -> "minus" or "plus"."""
    # 1. Look at the sign of every entry. -> bool, shape of x
    # 2. Make of it what is asked. -> result
    raise NotImplementedError


def positive(x):
    """X of any shape -> int."""
    # 1. Look at the sign of every entry. -> bool, shape of x
    # 2. Make of it what is asked. -> result
    raise NotImplementedError
