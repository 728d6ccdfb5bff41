# mistakes: positions-relative-to-the-first
"""GPT-J's rotate_every_two as a nested function; one more nested function doubles the tables; angles by tensordot."""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    def rotate_every_two(t):
        return torch.stack((-t[..., 1::2], t[..., ::2]), dim=-1).reshape(t.shape)

    def twice(t):
        return t.repeat_interleave(2, dim=-1)

    half = x.shape[-1] // 2
    freqs = base ** -(torch.arange(half, device=x.device) / half)
    start = position_ids.narrow(-1, 0, 1)
    steps = position_ids - start  # first wrong
    angle = torch.tensordot(steps.float().unsqueeze(-1), freqs.unsqueeze(0), dims=1)
    if angle.dim() == 3:
        angle = angle.unsqueeze(1)
    return (x * twice(angle.cos()) + rotate_every_two(x) * twice(angle.sin())).to(x.dtype)
