"""Let sum_to_size do the sums: it adds up the copies that expand would make.

Each gradient is one line, and torch's own derivatives use the same function. An interviewer may ask
you to write it yourself.
"""


def matmul_backward(a, b, grad_out):
    da = (grad_out @ b.mT).sum_to_size(a.shape)
    db = (a.mT @ grad_out).sum_to_size(b.shape)
    return da, db
