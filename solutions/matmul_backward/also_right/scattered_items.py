"""Compute all products as one flat batch, and add each item to the matrix it came from.

An index table says which matrix of an operand was used for which item, so no rule of broadcasting
is written down. index_add adds one item after the other, which is slower than a sum over a dim.
"""

import torch


def source(operand, lead):
    count = operand.shape[:-2].numel()
    table = torch.arange(count, device=operand.device).reshape(operand.shape[:-2])
    return count, table.expand(lead).reshape(-1)


def matmul_backward(a, b, grad_out):
    lead = grad_out.shape[:-2]
    grads = grad_out.reshape(-1, *grad_out.shape[-2:])
    many_a, from_a = source(a, lead)
    many_b, from_b = source(b, lead)
    flat_a = a.reshape(many_a, *a.shape[-2:])[from_a]
    flat_b = b.reshape(many_b, *b.shape[-2:])[from_b]
    da = torch.bmm(grads, flat_b.transpose(1, 2))
    db = torch.bmm(flat_a.transpose(1, 2), grads)
    wide = torch.promote_types(a.dtype, torch.float32)
    da = da.new_zeros(many_a, *a.shape[-2:], dtype=wide).index_add(0, from_a, da.to(wide))
    db = db.new_zeros(many_b, *b.shape[-2:], dtype=wide).index_add(0, from_b, db.to(wide))
    return da.reshape(a.shape).to(a.dtype), db.reshape(b.shape).to(b.dtype)
