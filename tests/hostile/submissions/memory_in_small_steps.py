# Takes memory in small steps until none is left.
# of: prefix-sum
# family: memory
# verdict: memory
# memory: 256
import torch

hoard = []


def prefix_sum(x, reverse=False):
    while True:
        hoard.append(torch.ones(1 << 22))
