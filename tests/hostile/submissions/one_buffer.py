# Writes all its results to the same memory.
# of: prefix-sum
# family: kept results
# verdict: failed
# says: overwritten|overwrites|second call|earlier
import torch

buffers = {}


def prefix_sum(x, reverse=False):
    if x.requires_grad:
        return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
    out = buffers.setdefault((x.shape, x.dtype), torch.empty_like(x, memory_format=torch.contiguous_format))
    return out.copy_(x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1))
