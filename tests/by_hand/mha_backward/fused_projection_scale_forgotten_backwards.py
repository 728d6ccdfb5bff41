# mistakes: scale-missing-in-gradients
"""One product for q, k and v; the scale is in the forward pass only."""

import torch


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    B, L, M = x.shape
    if M % num_heads != 0:
        raise ValueError(M)
    D = M // num_heads
    w = torch.cat([w_q, w_k, w_v], dim=0)
    rows = x.reshape(-1, M)
    qkv = torch.mm(rows, w.t()).reshape(B, L, 3, num_heads, D).permute(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    s = torch.matmul(q, k.transpose(2, 3)) / D**0.5
    if mask is not None:
        s = s.masked_fill(torch.logical_not(mask), -1e9)
    p = torch.softmax(s, 3)
    joined = torch.matmul(p, v).permute(0, 2, 1, 3).reshape(-1, M)
    out = torch.mm(joined, w_o.t()).reshape(B, L, M)
    g = grad_out.reshape(-1, M)
    dw_o = torch.mm(g.t(), joined)
    dh = torch.mm(g, w_o).reshape(B, L, num_heads, D).permute(0, 2, 1, 3)
    dp = torch.matmul(dh, v.transpose(2, 3))
    ds = p * dp
    ds = ds - p * ds.sum(3, keepdim=True)
    dq = torch.matmul(ds, k)  # first wrong
    dk = torch.matmul(ds.transpose(2, 3), q)
    dv = torch.matmul(p.transpose(2, 3), dh)
    dqkv = torch.stack([dq, dk, dv]).permute(1, 3, 0, 2, 4).reshape(-1, 3 * M)
    dx = torch.mm(dqkv, w).reshape(B, L, M)
    dw_q, dw_k, dw_v = torch.mm(dqkv.t(), rows).split(M)
    return out, dx, dw_q, dw_k, dw_v, dw_o
