# mistakes: whole-mask-built
"""Statistics in float32, what is hidden by an added -inf."""

import torch


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    if dtype == torch.bfloat16:
        q, k, v = q.float(), k.float(), v.float()
    q_len = q.shape[2]
    k_len = k.shape[2]
    scale = q.shape[3] ** -0.5

    mask = None
    if causal:
        mask = torch.tril(torch.ones(q_len, k_len, dtype=torch.bool), diagonal=k_len - q_len)  # first wrong

    running_max = q.new_full(q.shape[:3] + (1,), float("-inf"))
    running_sum = torch.zeros_like(running_max)
    output = torch.zeros(q.shape, dtype=q.dtype)
    begin = 0
    for k_part, v_part in zip(torch.split(k, block_size, dim=2), torch.split(v, block_size, dim=2), strict=True):
        end = begin + k_part.shape[2]
        logits = torch.matmul(q, k_part.permute(0, 1, 3, 2)).mul(scale)
        if mask is not None:
            bias = torch.zeros(q_len, end - begin, dtype=logits.dtype)
            bias = bias.masked_fill(~mask[:, begin:end], float("-inf"))
            logits = logits.add(bias)
        block_max = logits.amax(dim=-1, keepdim=True)
        new_max = torch.maximum(running_max, block_max)
        rescale = torch.exp(running_max - new_max)
        weights = torch.exp(logits - new_max)
        running_sum = running_sum.mul(rescale).add(weights.sum(dim=-1, keepdim=True))
        output = output.mul(rescale).add(torch.matmul(weights, v_part))
        running_max = new_max
        begin = end
    return output.div(running_sum).to(dtype)
