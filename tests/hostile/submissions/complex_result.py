# Returns complex numbers whose real parts are right.
# of: prefix-sum
# family: odd results
# verdict: failed error
# says: complex
import torch


def prefix_sum(x, reverse=False):
    out = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
    return torch.complex(out.float(), torch.zeros_like(out.float()))
