# Returns a tensor that requires gradients but passes none on.
# of: prefix-sum
# family: wrong gradients
# verdict: failed
# says: gradient

def prefix_sum(x, reverse=False):
    out = x.detach().flip(-1).cumsum(-1).flip(-1) if reverse else x.detach().cumsum(-1)
    return out.requires_grad_(x.requires_grad)
