# mistakes: mask-filled-with-zero
"""Every pair of query and key multiplied out by broadcasting, no matrix product; weights through logsumexp."""


def scaled_dot_product_attention(q, k, v, mask=None):
    d = q.shape[-1]
    a = q.unsqueeze(-2)
    b = k.unsqueeze(-3)
    s = (a * b).sum(dim=-1)
    s = s * d**-0.5
    if mask is not None:
        s = s * mask  # first wrong
    lse = s.logsumexp(dim=-1, keepdim=True)
    p = (s - lse).exp()
    p = p.unsqueeze(-1)
    return (p * v.unsqueeze(-3)).sum(dim=-2)
