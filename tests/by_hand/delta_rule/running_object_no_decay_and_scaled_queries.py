# mistakes: no-decay, queries-scaled
"""A small class holds the memory; queries are scaled as in attention."""

import torch


class Memory:
    def __init__(self, table):
        self.table = table

    def read(self, x):
        return torch.einsum("...ed,...d->...e", self.table, x)

    def write(self, key, value, rate):
        miss = (value - self.read(key)) * rate.unsqueeze(-1)  # first wrong
        self.table = self.table + miss.unsqueeze(-1) * key.unsqueeze(-2)


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    empty = torch.zeros(*q.shape[:2], v.size(-1), q.size(-1), dtype=v.dtype)
    memory = Memory(empty if state is None else state)
    rows = []
    for t in range(q.size(2)):
        memory.write(k[:, :, t], v[:, :, t], beta[:, :, t])
        rows.append(memory.read(q[:, :, t] / q.size(-1) ** 0.5))  # also wrong
    out = torch.stack(rows, 2) + 0 * decay.unsqueeze(-1)
    return out.to(dtype), memory.table
