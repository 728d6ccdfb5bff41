"""Write the backward pass by hand: the gradients of the pages are added up page by page.

The loop shows that a shared page gets gradients from all its sequences. A decode step is seldom
trained, so this is an exercise, and the gradient of a gradient is silently wrong.
"""

import torch


def tokens(pages, row, length, group):
    return pages[row].flatten(0, 1)[:length].repeat_interleave(group, dim=1).transpose(0, 1)


class Paged(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k_pages, v_pages, table, lengths):
        ctx.rows = [
            (row[: (n + k_pages.shape[1] - 1) // k_pages.shape[1]], n)
            for row, n in zip(table, lengths.tolist())
        ]
        group, ctx.scale = q.shape[1] // k_pages.shape[2], q.shape[2] ** -0.5
        weights, out = [], torch.empty_like(q)
        for b, (row, n) in enumerate(ctx.rows):
            k, v = tokens(k_pages, row, n, group), tokens(v_pages, row, n, group)  # [H, n, D]
            weights.append((q[b, :, None] @ k.mT * ctx.scale).softmax(-1))  # [H, 1, n]
            out[b] = (weights[b] @ v)[:, 0]
        ctx.save_for_backward(q, k_pages, v_pages, *weights)
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k_pages, v_pages, *weights = ctx.saved_tensors
        (_, page, kv_heads, dim), group = k_pages.shape, q.shape[1] // k_pages.shape[2]
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k_pages), torch.zeros_like(v_pages)

        def add(pages, row, n, grads):  # grads [H, n, D]
            of_heads = grads.unflatten(0, (kv_heads, group)).sum(1).transpose(0, 1)
            whole = of_heads.new_zeros(len(row) * page, kv_heads, dim)
            whole[:n] = of_heads
            pages.index_add_(0, row, whole.unflatten(0, (len(row), page)))

        for b, (row, n) in enumerate(ctx.rows):
            k, v, w = tokens(k_pages, row, n, group), tokens(v_pages, row, n, group), weights[b]
            g = grad[b, :, None]  # [H, 1, D]
            dw = g @ v.mT
            ds = w * (dw - (dw * w).sum(-1, keepdim=True)) * ctx.scale
            dq[b] = (ds @ k)[:, 0]
            add(dk, row, n, ds.mT @ q[b, :, None])
            add(dv, row, n, w.mT @ g)
        return dq, dk, dv, None, None


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    return Paged.apply(q, k_pages, v_pages, block_table, lengths)
