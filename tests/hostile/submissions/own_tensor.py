# Right; returns its own tensor subclass, which only adds a method.
# of: prefix-sum
# family: right: own torch classes
# verdict: passed
import torch


class Sum(torch.Tensor):
    def last(self):
        return self[..., -1]


def prefix_sum(x, reverse=False):
    out = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
    return out.as_subclass(Sum)
