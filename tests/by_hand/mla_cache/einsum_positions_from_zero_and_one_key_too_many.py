# mistakes: positions-from-zero, one-key-too-many
"""Every product is an einsum, also those with the weights; masks are numbers that are added."""

from math import sqrt

import torch
from torch import nn


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.num_heads, self.width, self.rope_base = num_heads, nope_dim + rope_dim, rope_base

    def weight(self, layer):
        return layer.weight.unflatten(0, (self.num_heads, -1))  # [H, width, rank]

    def forward(self, x, cache=None):
        n = x.size(1)
        cq = torch.einsum("bnm,rm->bnr", x, self.q_down.weight)
        q_content = torch.einsum("bnr,hdr->bhnd", cq, self.weight(self.q_up))
        q_place = torch.einsum("bnr,hdr->bhnd", cq, self.weight(self.q_rope))
        latent = torch.einsum("bnm,rm->bnr", x, self.kv_down.weight)
        place = torch.einsum("bnm,dm->bnd", x, self.k_rope.weight)

        half = torch.arange(place.size(-1) // 2)
        angle = torch.einsum(
            "n,f->nf", torch.arange(n).float(), self.rope_base ** (-half / len(half))
        )  # first wrong
        spin = torch.polar(torch.ones_like(angle), angle)
        q_place = torch.view_as_real(
            torch.view_as_complex(q_place.float().unflatten(-1, (-1, 2)).contiguous()) * spin
        )
        place = torch.view_as_real(
            torch.view_as_complex(place.float().unflatten(-1, (-1, 2)).contiguous()) * spin
        )
        q_place, place = q_place.flatten(-2).to(x.dtype), place.flatten(-2).to(x.dtype)
        if cache is not None:
            latent, place = (torch.cat((old, new), 1) for old, new in zip(cache, (latent, place)))

        k_content = torch.einsum("btr,hdr->bhtd", latent, self.weight(self.k_up))
        values = torch.einsum("btr,hdr->bhtd", latent, self.weight(self.v_up))
        scores = torch.einsum("bhnd,bhtd->bhnt", q_content, k_content) + torch.einsum(
            "bhnd,btd->bhnt", q_place, place
        )
        total = latent.size(1)
        distance = torch.arange(total) - torch.arange(total - n, total)[:, None]
        shut = torch.zeros(n, total).masked_fill(distance > 1, float("-inf")).to(x.dtype)
        weights = torch.softmax(scores / sqrt(self.width) + shut, dim=-1)  # also wrong
        heads = torch.einsum("bhnt,bhtd->bnhd", weights, values)
        return torch.einsum("bnf,mf->bnm", heads.flatten(2), self.o_proj.weight), (latent, place)
