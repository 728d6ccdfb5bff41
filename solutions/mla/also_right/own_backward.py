"""Write the backward pass of the attention by hand, and rotate by a block-diagonal matrix.

The rotation takes Dr products for each feature instead of two, and its matrices take B * L * Dr *
Dr numbers. The backward pass keeps the weights, as autograd does, so it saves no memory of that
size.
"""

import torch
from torch import nn


class Attend(torch.autograd.Function):
    """softmax(q k^T + bias) v for q, k [B, H, L, D] and v [B, H, L, Dv]; q comes scaled."""

    @staticmethod
    def forward(ctx, q, k, v, bias):
        logits = q @ k.mT
        if bias is not None:
            logits = logits + bias
        weights = torch.softmax(logits, -1)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        grad_weights = grad @ v.mT
        grad_logits = weights * (grad_weights - (grad_weights * weights).sum(-1, keepdim=True))
        return grad_logits @ k, grad_logits.mT @ q, weights.mT @ grad, None


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads, self.dims = num_heads, (nope_dim, rope_dim)
        rates = torch.tensor([rope_base ** (-i / rope_dim) for i in range(0, rope_dim, 2)], dtype=torch.float64)
        self.rates = rates  # no buffer: the module's dtype is none of its business
        self.q_down, self.kv_down, self.k_rope = (nn.Linear(d_model, size, bias=False) for size in (q_rank, kv_rank, rope_dim))
        self.q_up, self.q_rope = (nn.Linear(q_rank, num_heads * size, bias=False) for size in (nope_dim, rope_dim))
        self.k_up, self.v_up = (nn.Linear(kv_rank, num_heads * size, bias=False) for size in (nope_dim, v_dim))
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def rotations(self, position_ids, dtype):
        """[B, 1, L, Dr, Dr]: blocks ((cos, -sin), (sin, cos)) along the diagonal."""
        angles = (position_ids[..., None] * self.rates).repeat_interleave(2, dim=-1)  # [B, L, Dr]
        sines = angles.sin()[..., 1:].clone()
        sines[..., 1::2] = 0  # none from one pair to the next
        matrix = torch.diag_embed(angles.cos()) + torch.diag_embed(sines, offset=-1) - torch.diag_embed(sines, offset=1)
        return matrix.to(dtype)[:, None]

    def forward(self, x, mask=None, position_ids=None):
        batch, length, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device).expand(batch, -1)
        turn = self.rotations(position_ids, x.dtype)
        c_q, c_kv = self.q_down(x), self.kv_down(x)
        split = lambda t: t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # noqa: E731
        q_rope = (turn @ split(self.q_rope(c_q))[..., None]).squeeze(-1)
        k_rope = (turn @ self.k_rope(x)[:, None, :, :, None]).squeeze(-1).expand_as(q_rope)
        q = torch.cat((split(self.q_up(c_q)), q_rope), -1) / sum(self.dims) ** 0.5
        k = torch.cat((split(self.k_up(c_kv)), k_rope), -1)
        bias = None if mask is None else torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(~mask, -torch.inf)
        return self.o_proj(Attend.apply(q, k, split(self.v_up(c_kv)), bias).transpose(1, 2).flatten(-2))
