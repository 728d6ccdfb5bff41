"""The gated delta rule as a recurrence: a key's old value is replaced, and all values fade.

    S_t = decay_t * S_(t-1) (I - beta_t k_t k_t^T) + beta_t v_t k_t^T    o_t = S_t q_t

This is a step of gradient descent, with rate beta_t, on |S k_t - v_t|^2 / 2 from the faded state.
Yang et al. 2024, "Gated Delta Networks: Improving Mamba2 with Delta Rule".
"""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    """Return out [B, H, L, Dv] and the state S [B, H, Dv, D] after the last token.

    q, k [B, H, L, D], v [B, H, L, Dv], beta, decay [B, H, L]. state: S of an earlier call, or None.
    """
    batch, heads, length, head_dim = q.shape
    value_dim = v.shape[-1]
    if k.shape != q.shape or v.shape[:3] != q.shape[:3]:
        raise ValueError(f"q, k and v differ: {list(q.shape)}, {list(k.shape)}, {list(v.shape)}")
    if beta.shape != q.shape[:3] or decay.shape != q.shape[:3]:
        raise ValueError(
            f"beta {list(beta.shape)} and decay {list(decay.shape)} must be {list(q.shape[:3])}"
        )

    # small steps would be lost in a bfloat16 state, so it is float32 or finer
    wide = torch.promote_types(q.dtype, torch.float32)
    if state is None:
        S = q.new_zeros(batch, heads, value_dim, head_dim, dtype=wide)
    else:
        S = state.to(wide)

    outputs = []
    for t in range(length):
        key = k[:, :, t].to(wide)  # [B, H, D]
        query = q[:, :, t].to(wide)  # [B, H, D]
        rate = beta[:, :, t, None]  # [B, H, 1]

        # fade first: the value that is removed has faded too. `S *= ...` would change the
        # caller's state
        S = S * decay[:, :, t, None, None]  # [B, H, Dv, D]
        remembered = (S @ key[..., None]).squeeze(-1)  # [B, H, Dv]
        error = v[:, :, t] - remembered  # [B, H, Dv]
        step = rate * error  # [B, H, Dv]
        S = S + step[..., :, None] * key[..., None, :]  # [B, H, Dv, D]

        # a query sees its own token, so the state is read after the write
        outputs.append((S @ query[..., None]).squeeze(-1))  # [B, H, Dv]

    out = torch.stack(outputs, dim=2)  # [B, H, L, Dv]
    return out.to(q.dtype), S
