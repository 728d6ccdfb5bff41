"""Absorbed form: W_UK into the query, latents as keys and values; jit rotate; checkpoint."""
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


@torch.jit.script
def rotate(x: Tensor, pos: Tensor, inv: Tensor) -> Tensor:
    ang = pos[..., None].float() * inv
    c, s = ang.cos().unsqueeze(2), ang.sin().unsqueeze(2)
    a, b = x[..., 0::2].float(), x[..., 1::2].float()
    return torch.stack([a * c - b * s, b * c + a * s], dim=-1).flatten(-2).to(x.dtype)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.h, self.dn, self.dr, self.dv, self.base = num_heads, nope_dim, rope_dim, v_dim, float(rope_base)
        L = lambda i, o: nn.Linear(i, o, bias=False)
        self.q_down, self.q_up, self.q_rope = L(d_model, q_rank), L(q_rank, num_heads * nope_dim), L(q_rank, num_heads * rope_dim)
        self.kv_down, self.k_up, self.v_up = L(d_model, kv_rank), L(kv_rank, num_heads * nope_dim), L(kv_rank, num_heads * v_dim)
        self.k_rope, self.o_proj = L(d_model, rope_dim), L(num_heads * v_dim, d_model)

    def core(self, q_lat, q_rope, c_kv, k_rope, mask):
        s = torch.einsum("blhr,bmr->bhlm", q_lat, c_kv) + torch.einsum("blhd,bmd->bhlm", q_rope, k_rope)
        s = s * (self.dn + self.dr) ** -0.5
        if mask is not None:
            s = s.masked_fill(~mask, float("-inf"))
        return torch.einsum("bhlm,bmr->blhr", s.softmax(-1), c_kv)

    def forward(self, x, mask=None, position_ids=None):
        B, L, _ = x.shape
        pos = torch.arange(L, device=x.device).expand(B, L) if position_ids is None else position_ids
        inv = self.base ** (-torch.arange(0, self.dr, 2, device=x.device).float() / self.dr)
        c_q, c_kv = self.q_down(x), self.kv_down(x)
        q_rope = rotate(self.q_rope(c_q).view(B, L, self.h, self.dr), pos, inv)
        k_rope = rotate(self.k_rope(x).unsqueeze(2), pos, inv).squeeze(2)
        q_lat = torch.einsum("blhd,hdr->blhr", self.q_up(c_q).view(B, L, self.h, self.dn), self.k_up.weight.view(self.h, self.dn, -1))
        o = checkpoint(self.core, q_lat, q_rope, c_kv, k_rope, mask, use_reentrant=False)
        o = torch.einsum("blhr,hvr->blhv", o, self.v_up.weight.view(self.h, self.dv, -1))
        return self.o_proj(o.reshape(B, L, -1))
