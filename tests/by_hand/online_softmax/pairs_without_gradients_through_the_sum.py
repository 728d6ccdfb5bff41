# mistakes: sum-detached
"""A function for the pass over the blocks; the sum is read through `data`."""

import torch


def normaliser(chunks):
    m = chunks[0].new_full(chunks[0].shape[:-1] + (1,), torch.finfo(chunks[0].dtype).min)
    n = torch.zeros_like(m)
    for chunk in chunks:
        m_old = m
        m = torch.max(m_old, chunk.max(dim=-1, keepdim=True)[0])
        n = n * torch.exp(m_old - m)
        n = n + torch.exp(chunk - m).sum(dim=-1, keepdim=True)
    return m, n


def online_softmax(blocks):
    chunks = [*blocks]
    dtype = chunks[0].dtype
    chunks = [chunk.to(torch.promote_types(dtype, torch.float32)) for chunk in chunks]
    m, n = normaliser(chunks)
    numerator = torch.exp(torch.cat(chunks, -1) - m)
    return (numerator / n.data.clamp(min=1)).to(dtype)  # first wrong
