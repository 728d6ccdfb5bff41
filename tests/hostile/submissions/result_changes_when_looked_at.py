# Returns a tensor subclass whose copies have other values.
# of: prefix-sum
# family: lying tensors
# verdict: failed error
import torch


class Chameleon(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            out = func(*args, **(kwargs or {}))
            return out - 1 if func in (torch.Tensor.clone, torch.Tensor.contiguous) else out


def prefix_sum(x, reverse=False):
    out = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
    return (out + 1).as_subclass(Chameleon)
