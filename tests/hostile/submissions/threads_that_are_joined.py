# Right; a thread pool does the work and is closed.
# of: prefix-sum
# family: right: unusual function
# verdict: passed
from concurrent.futures import ThreadPoolExecutor

import torch


def once(x, reverse, with_gradients):
    with torch.set_grad_enabled(with_gradients):
        return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)


def prefix_sum(x, reverse=False):
    with torch.set_grad_enabled(x.requires_grad), ThreadPoolExecutor(2) as pool:
        return pool.submit(once, x, reverse, x.requires_grad).result()
