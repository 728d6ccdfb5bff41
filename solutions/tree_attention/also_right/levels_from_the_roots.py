"""Go down from the roots: all nodes of one depth copy the rows of their parents in one step.

The number of steps is the depth of the tree, which is small for draft trees. Each step needs to
know which nodes are ready, so it searches all nodes again.
"""

import torch


def tree_mask(parents):
    n = parents.shape[0]
    mask = torch.eye(n, dtype=torch.bool, device=parents.device)
    done = parents < 0
    while not bool(done.all()):
        ready = ~done & done[parents.clamp(min=0)]
        children = ready.nonzero().flatten()
        mask[children] = mask[children] | mask[parents[children]]
        done = done | ready
    return mask
