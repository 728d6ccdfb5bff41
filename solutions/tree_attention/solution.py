"""The attention mask of a tree of draft tokens: a node sees itself and its ancestors.

    mask[i, j] = j is i, or parents[i], or parents[parents[i]], ... up to a root

Speculative decoding checks all branches of such a tree in one forward pass. Miao et al. 2023,
"SpecInfer"; Cai et al. 2024, "Medusa".
"""

import torch


def tree_mask(parents):
    """Return bool [N, N] for parents, int64 [N]: the index of each node's parent; -1 for a root."""
    if parents.dim() != 1:
        raise ValueError(f"parents must have 1 dim, [N]; it has {parents.dim()}: {parents.shape}")
    count = parents.shape[0]
    node = torch.arange(count, device=parents.device)  # [N]
    mask = torch.zeros(count, count, dtype=torch.bool, device=parents.device)  # [N, N]
    ancestor = node  # [N], of every node; generation 0 is the node itself
    # a chain has as many generations as nodes
    for _ in range(count):
        # row: the node that looks; column: its ancestor. -1 is no column
        is_ancestor = ancestor[:, None] == node[None, :]  # [N, N]
        mask = mask | is_ancestor
        # clamp: parents[-1] would be the parent of the last node
        parent = parents[ancestor.clamp(min=0)]  # [N]
        # above a root there is nothing
        ancestor = torch.where(ancestor >= 0, parent, -1)
    return mask
