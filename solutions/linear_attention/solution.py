"""Causal linear attention as a recurrence: the state of the past has a fixed size.

    S_t = S_(t-1) + phi(k_t) v_t^T    z_t = z_(t-1) + phi(k_t)    phi(x) = elu(x) + 1
    out_t = phi(q_t) S_t / (phi(q_t) . z_t)

This is attention with the weight phi(q) . phi(k) instead of exp(q . k): the sum over the keys can
be moved into a state. Katharopoulos et al. 2020, "Transformers are RNNs".
"""

import torch
import torch.nn.functional as F


def linear_attention(q, k, v, state=None):
    """Return out [B, H, L, Dv] and the state (S [B, H, D, Dv], z [B, H, D]) after the last token.

    q, k [B, H, L, D], v [B, H, L, Dv]. state is that of an earlier call; None for no past.
    """
    batch, heads, length, head_dim = q.shape
    value_dim = v.shape[-1]
    if k.shape != q.shape or v.shape[:3] != q.shape[:3]:
        raise ValueError(f"q, k and v differ: {list(q.shape)}, {list(k.shape)}, {list(v.shape)}")

    # positive features: the denominator is positive, and weights of 0 do not occur
    phi_q = F.elu(q) + 1  # [B, H, L, D]
    phi_k = F.elu(k) + 1  # [B, H, L, D]

    # a running sum of ones in bfloat16 stops at 256, so the state is float32 or finer
    wide = torch.promote_types(q.dtype, torch.float32)
    if state is None:
        S = q.new_zeros(batch, heads, head_dim, value_dim, dtype=wide)
        z = q.new_zeros(batch, heads, head_dim, dtype=wide)
    else:
        S, z = state[0].to(wide), state[1].to(wide)

    numerators, denominators = [], []
    for t in range(length):
        # a query sees its own token, so the state is written before it is read.
        # `S += ...` would change the caller's state
        query = phi_q[:, :, t].to(wide)  # [B, H, D]
        write = phi_k[:, :, t, :, None] * v[:, :, t, None, :]  # [B, H, D, Dv]
        S = S + write
        z = z + phi_k[:, :, t]
        numerators.append((query[..., None, :] @ S).squeeze(-2))  # [B, H, Dv]
        denominators.append((query * z).sum(dim=-1, keepdim=True))  # [B, H, 1]

    numerator = torch.stack(numerators, dim=2)  # [B, H, L, Dv]
    denominator = torch.stack(denominators, dim=2)  # [B, H, L, 1]
    out = numerator / denominator  # [B, H, L, Dv]
    return out.to(q.dtype), (S, z)
