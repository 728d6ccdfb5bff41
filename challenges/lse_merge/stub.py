def merge_attention(out_a, lse_a, out_b, lse_b):
    """Merge the attention results of the same queries over two separate sets of keys.

    L queries, D head dim, any leading dims. lse is the natural logarithm of the softmax's
    denominator; -inf: the query saw no key in this part, so its out does not count. If it saw no
    key in either part, out is 0 and lse is -inf.
    out_a, out_b [..., L, D], lse_a, lse_b [..., L] -> out [..., L, D], lse [..., L].
    """
    # 1. Find the larger lse of each query. -> [..., L]
    # 2. Replace a larger lse of -inf by 0: -inf minus -inf is NaN. -> [..., L]
    # 3. Compute the weight of each part, with this number subtracted. -> [..., L] each
    # 4. Add the weights. -> [..., L]
    # 5. Compute the lse of both parts together. -> [..., L]
    # 6. Divide each weight by the sum of the weights, but not by 0. -> [..., L] each
    # 7. Weight all features of a query alike. -> [..., L, 1] each
    # 8. Sum the two outputs with these shares, in the dtype of the outputs. -> [..., L, D]
    raise NotImplementedError
