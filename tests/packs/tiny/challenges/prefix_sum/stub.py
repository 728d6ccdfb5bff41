def prefix_sum(x, reverse=False):
    """x [B, L] -> [B, L]: entry i is the sum of x[:, :i + 1], or of x[:, i:] if reverse."""
    # 1. Turn the entries round where it goes from the end. -> [B, L]
    # 2. Sum up along the positions, and turn round again. -> [B, L]
    raise NotImplementedError
