def matmul_backward(a, b, grad_out):
    """Return the gradients of y = a @ b by formulas: da and db.

    grad_out is the gradient of the loss with respect to y. The leading dims of a and b broadcast:
    they may be missing or have the size 1 on either side.
    a [..., n, k], b [..., k, m], grad_out [..., n, m] -> da in the shape of a, db in that of b.
    """
    # 1. Multiply grad_out by b, transposed: da, with the leading dims of y. -> [..., n, k]
    # 2. Multiply a, transposed, by grad_out: db, with the leading dims of y. -> [..., k, m]
    # 3. Sum da over the leading dims that a does not have, if there are any, and drop them.
    #    -> as many dims as a
    # 4. Sum da over the dims in which a has the size 1, if there are any, and keep them.
    #    -> the shape of a
    # 5. Do the same for db and b; a helper function serves both. -> the shape of b
    # 6. Return both. -> tuple
    raise NotImplementedError
