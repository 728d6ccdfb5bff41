# mistakes: no-scale, slopes-reversed
"""einsum; the slopes of a power of two are built from the last to the first."""

import torch


def geometric(n):
    return torch.tensor([2.0 ** (-8.0 * (n - i) / n) for i in range(n)])  # first wrong


def alibi_slopes(num_heads):
    n = 1 << (num_heads.bit_length() - 1)
    return torch.cat((geometric(n), geometric(2 * n)[0::2][: num_heads - n]))


def alibi_attention(q, k, v):
    h, n = q.shape[1], q.shape[2]
    s = torch.einsum("b h i d, b h j d -> b h i j", q, k)  # also wrong
    i, j = torch.arange(n).unsqueeze(1), torch.arange(n).unsqueeze(0)
    s = s + torch.einsum("h,ij->hij", alibi_slopes(h), (j - i).float())
    s = s.masked_fill(j > i, -1e9)
    return torch.einsum("b h i j, b h j d -> b h i d", torch.softmax(s, -1).to(v.dtype), v)
