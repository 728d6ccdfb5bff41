"""Build the Jacobian of the softmax, diag(P) - P P^T, for every query, and multiply by it.

The code follows the definition of the derivative, so there is no formula to remember. The Jacobian
has Lk entries for each weight, which takes far too much memory for long inputs.
"""

import math

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    scores = torch.matmul(q, k.mT).div(math.sqrt(q.size(-1)))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    P = torch.softmax(scores, dim=3)
    J = torch.diag_embed(P) - P.unsqueeze(-1) * P.unsqueeze(-2)
    dP = torch.matmul(grad_out, v.mT)
    dS = torch.matmul(J, dP.unsqueeze(-1)).squeeze(-1)
    dS = dS.div(math.sqrt(q.size(-1)))
    return torch.matmul(dS, k), torch.matmul(dS.mT, q), torch.matmul(P.mT, grad_out)
