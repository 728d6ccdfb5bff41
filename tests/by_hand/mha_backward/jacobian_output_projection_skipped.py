# mistakes: output-projection-skipped-backwards
"""The whole Jacobian of the softmax; the heads get grad_out itself."""

import torch
import torch.nn.functional as F


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    B, T, C = x.size()
    if C % num_heads:
        raise ValueError("C % num_heads")
    split = lambda t: t.reshape(B, T, num_heads, C // num_heads).transpose(1, 2)
    join = lambda t: t.transpose(1, 2).contiguous().view(B, T, C)
    q, k, v = (split(F.linear(x, w)) for w in (w_q, w_k, w_v))
    c = (C // num_heads) ** -0.5
    att = (q @ k.transpose(-2, -1)) * c
    if mask is not None:
        att = att.masked_fill(~mask, float("-inf"))
    att = F.softmax(att, dim=-1)
    y = join(att @ v)
    out = F.linear(y, w_o)
    jac = torch.diag_embed(att) - att[..., None] * att[..., None, :]
    dy = split(grad_out)  # first wrong
    datt = (jac @ (dy @ v.transpose(-2, -1))[..., None])[..., 0] * c
    dq, dk, dv = join(datt @ k), join(datt.transpose(-2, -1) @ q), join(att.transpose(-2, -1) @ dy)
    dx = torch.cat([dq, dk, dv], -1) @ torch.cat([w_q, w_k, w_v])
    dw = lambda g, a: g.reshape(B * T, C).t() @ a.reshape(B * T, C)
    return out, dx, dw(dq, x), dw(dk, x), dw(dv, x), dw(grad_out, y)
