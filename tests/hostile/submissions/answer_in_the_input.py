# Overwrites the input with the answer, without raising its version, and returns a view of it.
# of: prefix-sum
# family: changed inputs
# verdict: failed
# says: changed in place

def prefix_sum(x, reverse=False):
    out = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
    if x.requires_grad:
        return out
    x.data.copy_(out)
    return x[:]
