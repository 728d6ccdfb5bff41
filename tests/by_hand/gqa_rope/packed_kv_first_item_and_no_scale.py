# mistakes: first-item-for-all, no-scale
"""Query and key heads are joined and turned together; everything stays [B, L, heads, D] until the products."""

import torch
import torch.nn as nn


class LlamaAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, max_seq_len: int = 2048, rope_base: float = 10000.0) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model}, num_heads={num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads={num_heads}, num_kv_heads={num_kv_heads}")
        self.n_q, self.n_kv, self.head_size = num_heads, num_kv_heads, d_model // num_heads
        self.layers = nn.ModuleDict()
        self.layers["to_q"] = nn.Linear(d_model, num_heads * self.head_size, bias=False)
        self.layers["to_kv"] = nn.Linear(d_model, 2 * num_kv_heads * self.head_size, bias=False)
        self.layers["to_out"] = nn.Linear(num_heads * self.head_size, d_model, bias=False)
        powers = torch.linspace(0, 1, self.head_size // 2 + 1)[:-1]
        phase = torch.arange(max_seq_len).float().unsqueeze(-1) / torch.pow(rope_base, powers)
        self.register_buffer("phase_cos", torch.cos(phase), persistent=False)
        self.register_buffer("phase_sin", torch.sin(phase), persistent=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, position_ids: torch.Tensor | None = None) -> torch.Tensor:
        B, L, _ = x.shape
        keys, values = self.layers["to_kv"](x).chunk(2, dim=-1)
        qk = torch.cat((self.layers["to_q"](x), keys), dim=-1).view(B, L, self.n_q + self.n_kv, self.head_size)
        rows = slice(L) if position_ids is None else position_ids[0]  # first wrong
        cos = self.phase_cos[rows].view(L, 1, -1)
        sin = self.phase_sin[rows].view(L, 1, -1)
        left, right = qk[..., : self.head_size // 2], qk[..., self.head_size // 2 :]
        qk = torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)
        q, k = qk[:, :, : self.n_q], qk[:, :, self.n_q :]
        q = q.reshape(B, L, self.n_kv, -1, self.head_size)
        v = values.reshape(B, L, self.n_kv, self.head_size)
        energy = torch.einsum("bqgrd,bkgd->bgrqk", q, k).flatten(1, 2)
        if mask is not None:
            energy = energy.masked_fill(mask.logical_not(), float("-inf"))
        attention = torch.softmax(energy, dim=-1).unflatten(1, (self.n_kv, -1))  # also wrong
        return self.layers["to_out"](torch.einsum("bgrqk,bkgd->bqgrd", attention, v).reshape(B, L, -1))
