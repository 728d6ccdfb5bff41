# Right; TorchScript computes a boolean mask and the product.
# of: gqa
# base: gqa
# family: right: TorchScript and numpy
# verdict: passed
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    @torch.jit.script
    def masked(w: torch.Tensor, v: torch.Tensor):
        seen = torch.ones(w.size(-1), w.size(-1), dtype=torch.bool)
        return w.masked_fill(~seen, 0.0) @ v


class GroupedQueryAttention(GroupedQueryAttention):
    def mixed(self, w, v):
        return masked(w, v)
