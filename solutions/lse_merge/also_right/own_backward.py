"""Write the backward pass by hand: the gradient of lse_a is its share, times a dot product.

Only the shares and the outputs are saved. The dot product runs over the features of the difference
of an output and the merged output, as in the backward pass of attention.
"""

import torch


class Merge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, out_a, lse_a, out_b, lse_b):
        top = torch.max(lse_a, lse_b)
        top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
        e_a, e_b = (lse_a - top).exp(), (lse_b - top).exp()
        total = e_a + e_b
        safe = total + (total == 0)
        p_a, p_b = e_a / safe, e_b / safe
        out = (p_a.unsqueeze(-1) * out_a + p_b.unsqueeze(-1) * out_b).to(out_a.dtype)
        ctx.save_for_backward(out_a, out_b, out, p_a, p_b)
        return out, top + total.log()

    @staticmethod
    def backward(ctx, d_out, d_lse):
        out_a, out_b, out, p_a, p_b = ctx.saved_tensors

        def of_part(part, share):
            along = ((part - out) * d_out).sum(-1)
            d_part = (share.unsqueeze(-1) * d_out).to(part.dtype)
            return d_part, (share * (along + d_lse)).to(share.dtype)

        return *of_part(out_a, p_a), *of_part(out_b, p_b)


def merge_attention(out_a, lse_a, out_b, lse_b):
    return Merge.apply(out_a, lse_a, out_b, lse_b)
