"""Invert I - P, where P has a 1 at the parent of each node: the inverse is I + P + P^2 + ...

One call of a triangular solver replaces all loops. The work grows with N^3, and the entries are
floating-point numbers, which are 0 or 1 here, up to rounding.
"""

import torch


def tree_mask(parents):
    n = parents.shape[-1]
    columns = torch.arange(n, device=parents.device)
    is_parent = (parents.unsqueeze(1) == columns).to(torch.float64)
    identity = torch.eye(n, dtype=torch.float64, device=parents.device)
    paths = torch.linalg.solve_triangular(identity - is_parent, identity, upper=False)
    return paths > 0.5
