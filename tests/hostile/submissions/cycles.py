# Makes reference cycles, which nothing collects.
# of: prefix-sum
# family: memory
# verdict: memory
# memory: 192
import gc


def prefix_sum(x, reverse=False):
    gc.disable()
    while True:
        circle = [None] * 10_000
        circle[0] = circle
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
