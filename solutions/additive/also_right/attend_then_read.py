"""Use the letters of the paper, W_a, U_a and v_a, and fill masked scores with -1e9.

The operations are those of the reference, so it costs the same. In float16 the mask raises an
error, because -1e9 does not fit into this dtype.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super(AdditiveAttention, self).__init__()
        self.W_a = nn.Linear(query_dim, hidden_dim, bias=False)
        self.U_a = nn.Linear(key_dim, hidden_dim, bias=False)
        self.v_a = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query, keys, values, mask=None):
        energies = self.v_a(torch.tanh(self.W_a(query)[:, :, None] + self.U_a(keys)[:, None]))[..., 0]
        if mask is not None:
            energies = energies.masked_fill(mask == 0, -1e9)
        alpha = F.softmax(energies, dim=2)
        context = torch.bmm(alpha, values)
        return context, alpha
