# mistakes: memory-standardised
"""Einsum on [B, L, H, D]; both attentions are one function, and the layers sit in ModuleDicts."""

import torch
from torch import einsum, nn
from torch.nn import functional as F


def layers(d_model, width):
    widths = {"to_q": d_model, "to_k": width, "to_v": width, "to_out": d_model}
    return nn.ModuleDict({name: nn.Linear(n, d_model) for name, n in widths.items()})


def attend(part, x, source, heads, hidden):
    q = part["to_q"](x).unflatten(2, (heads, -1))
    k = part["to_k"](source).unflatten(2, (heads, -1))
    v = part["to_v"](source).unflatten(2, (heads, -1))
    sim = einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
    if hidden is not None:
        sim = sim.masked_fill(hidden, float("-inf"))
    return part["to_out"](einsum("bhij,bjhd->bihd", sim.softmax(-1), v).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads in {d_model} features")
        self.heads = num_heads
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.self_attn, self.cross_attn = layers(d_model, d_model), layers(d_model, memory_dim)
        self.mlp = nn.ModuleDict({"fc": nn.Linear(d_model, 4 * d_model), "proj": nn.Linear(4 * d_model, d_model)})

    def forward(self, x, memory, memory_mask=None):
        n = x.shape[1]
        later = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        padded = None if memory_mask is None else ~memory_mask[:, None, None]
        y = self.norm_1(x)
        x = x + attend(self.self_attn, y, y, self.heads, later)
        memory = F.layer_norm(memory, (memory.shape[-1],))  # first wrong
        x = x + attend(self.cross_attn, self.norm_2(x), memory, self.heads, padded)
        return x + self.mlp["proj"](F.gelu(self.mlp["fc"](self.norm_3(x))))
