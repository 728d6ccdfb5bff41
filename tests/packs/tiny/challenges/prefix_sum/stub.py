def prefix_sum(x, reverse=False):
    """x [B, L] -> [B, L]: entry i is the sum of x[:, :i + 1], or of x[:, i:] if reverse."""
    raise NotImplementedError
