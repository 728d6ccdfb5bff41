# Right; caches results by all values on which they depend.
# of: prefix-sum
# family: right: unusual function
# verdict: passed
import torch

memory = {}


def answer(x, reverse):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)


def prefix_sum(x, reverse=False):
    if x.requires_grad or x.dtype == torch.bfloat16:
        return answer(x, reverse)
    key = (bytes(x.contiguous().view(torch.uint8).flatten().tolist()), x.shape, x.dtype, reverse)
    if key not in memory:
        memory[key] = answer(x, reverse)
    return memory[key].clone()
