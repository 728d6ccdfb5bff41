"""Fill the mask by columns: the descendants of a node are those of its children, and itself.

The nodes are visited from the last to the first, so all children are complete. The idea gives
subtree sizes as well; the mask is needed by rows, so it is transposed at the end.
"""

import torch


def tree_mask(parents):
    n = int(parents.size(0))
    below = [1 << node for node in range(n)]  # a set of nodes as the bits of an integer
    for node in reversed(range(n)):
        parent = int(parents[node])
        if parent >= 0:
            below[parent] |= below[node]
    bits = [[below[ancestor] >> node & 1 for node in range(n)] for ancestor in range(n)]
    return torch.tensor(bits, device=parents.device).bool().T
