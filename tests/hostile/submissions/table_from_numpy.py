# Right; applies a mask from numpy that hides nothing.
# of: gqa
# base: gqa
# family: right: TorchScript and numpy
# verdict: passed
import numpy as np


class GroupedQueryAttention(GroupedQueryAttention):
    def mixed(self, w, v):
        table = torch.from_numpy(np.ones((w.shape[-1], w.shape[-1]), dtype=bool))
        return w.masked_fill(~table, 0.0) @ v
