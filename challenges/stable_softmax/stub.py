def softmax(x, dim=-1):
    """Return the softmax of x over the axis `dim`, for entries of any size.

    x [..., N, ...] with N entries along `dim`. An entry of -inf gets probability 0; a row of -inf
    only gives zeros.
    -> [..., N, ...], the dtype of x.
    """
    # 1. Find the largest entry of each row, and keep the axis. -> [..., 1, ...]
    # 2. Replace a largest entry of -inf by 0: -inf minus -inf is NaN. -> [..., 1, ...]
    # 3. Subtract it, so that no exponential overflows. -> [..., N, ...]
    # 4. Apply exp. -> [..., N, ...]
    # 5. Sum over the axis. -> [..., 1, ...]
    # 6. Divide by the sum, but not by 0. -> [..., N, ...]
    raise NotImplementedError
