# mistakes: dw-transposed
"""Everything as rows of tokens; the gradients of the weights have inputs in their rows."""

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    shape = x.shape
    M = shape[2]
    if M % num_heads > 0:
        raise ValueError("num_heads")
    D = M // num_heads
    a, g = x.reshape(-1, M), grad_out.reshape(-1, M)

    def heads(rows):
        return rows.view(shape[0], shape[1], num_heads, D).permute(0, 2, 1, 3)

    def rows(h):
        return h.permute(0, 2, 1, 3).reshape(-1, M)

    def product(inputs, grads):
        return inputs.T.matmul(grads)  # first wrong

    q, k, v = heads(a.matmul(w_q.T)), heads(a.matmul(w_k.T)), heads(a.matmul(w_v.T))
    energy = q.matmul(k.permute(0, 1, 3, 2)).div(D**0.5)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, -1e9)
    prob = energy.softmax(dim=3)
    joined = rows(prob.matmul(v))
    gh = heads(g.matmul(w_o))
    gp = gh.matmul(v.permute(0, 1, 3, 2))
    ge = prob.mul(gp - prob.mul(gp).sum(3, True)).div(D**0.5)
    gq, gk = rows(ge.matmul(k)), rows(ge.permute(0, 1, 3, 2).matmul(q))
    gv = rows(prob.permute(0, 1, 3, 2).matmul(gh))
    gx = gq.matmul(w_q) + gk.matmul(w_k) + gv.matmul(w_v)
    out = joined.matmul(w_o.T)
    weights = [product(a, gq), product(a, gk), product(a, gv), product(joined, g)]
    return out.view(shape), gx.view(shape), *weights
