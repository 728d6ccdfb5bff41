"""Double the reach of every row: join it with the row of the node's current farthest ancestor.

About log2(N) steps are enough, and each step handles all nodes together. The price is an extra last
row for the index -1, which replaces the tests for roots.
"""

import torch


def tree_mask(parents):
    n = parents.numel()
    up = torch.cat([parents, parents.new_tensor([-1])])
    up = torch.where(up < 0, torch.full_like(up, n), up)  # n is the node above all roots
    sees = torch.eye(n + 1, dtype=torch.bool, device=parents.device)
    steps = 1
    while steps < n + 1:
        sees = torch.logical_or(sees, sees[up])
        up = up[up]
        steps *= 2
    return sees[:n, :n].contiguous()
