# Returns noise with the right mean, spread and shape.
# of: prefix-sum
# family: wrong values
# verdict: failed
# says: values of out differ
import torch


def prefix_sum(x, reverse=False):
    return torch.randn_like(x) * x.shape[-1] ** 0.5 + x * 0
