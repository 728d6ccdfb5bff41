"""Tables in a module dict by their arguments; the dict's tensors are handed out as they are."""
import torch

TABLES: dict[tuple[int, int, float], tuple[torch.Tensor, torch.Tensor]] = {}


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    key = head_dim, max_seq_len, base
    if key not in TABLES:
        i = torch.arange(head_dim) % (head_dim // 2)
        angle = torch.arange(max_seq_len)[:, None] * torch.as_tensor(base, dtype=torch.float32).pow(-2 * i / head_dim)
        TABLES[key] = angle.cos(), angle.sin()
    return TABLES[key]


def apply_rope(q, k, cos, sin, position_ids=None):
    cos, sin = (t[: q.shape[2]] if position_ids is None else t[position_ids][:, None] for t in (cos, sin))
    half = q.shape[-1] // 2
    index = torch.arange(2 * half, device=q.device).roll(half)
    sign = torch.where(index >= half, -1, 1)
    return tuple((x * cos + x[..., index] * sign * sin).to(x.dtype) for x in (q, k))
