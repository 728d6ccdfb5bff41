"""Fill the mask by columns: a node's column joins the columns of its children and the node itself.

The loop visits the nodes from last to first, so all children are complete. The idea gives subtree
sizes as well. Rows are needed in the end, so the mask is transposed.
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
