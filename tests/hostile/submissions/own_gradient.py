# Right; defines its own backward pass.
# of: prefix-sum
# family: right: own torch classes
# verdict: passed
import torch


class PrefixSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.cumsum(-1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.flip(-1).cumsum(-1).flip(-1)


def prefix_sum(x, reverse=False):
    return PrefixSum.apply(x.flip(-1)).flip(-1) if reverse else PrefixSum.apply(x)
