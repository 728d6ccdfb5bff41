"""Split the step of a token into three small functions: fade, learn, recall.

The names say what the layer is: a linear memory that is trained on one pair of key and value for
each token. The extra Python calls take a little time in a loop that is slow anyway.
"""

import torch


def fade(memory, factor):
    return memory.mul(factor.unsqueeze(-1).unsqueeze(-1))


def recall(memory, address):
    return torch.matmul(memory, address.to(memory.dtype).unsqueeze(-1)).squeeze(-1)


def learn(memory, address, content, rate):
    """Step down the gradient of |memory @ address - content|^2 / 2."""
    gradient = (recall(memory, address) - content).unsqueeze(-1) * address.unsqueeze(-2)
    return memory - rate.unsqueeze(-1).unsqueeze(-1) * gradient


def gated_delta_rule(q, k, v, beta, decay, state=None):
    if state is None:
        state = q.new_zeros(q.shape[0], q.shape[1], v.shape[3], q.shape[3])
    memory = state.to(torch.promote_types(q.dtype, torch.float32))
    pieces = []
    for t in range(v.shape[2]):
        memory = fade(memory, decay.select(2, t))
        memory = learn(memory, k.select(2, t), v.select(2, t), beta.select(2, t))
        pieces.append(recall(memory, q.select(2, t)).unsqueeze(2))
    return torch.cat(pieces, 2).to(q.dtype), memory
