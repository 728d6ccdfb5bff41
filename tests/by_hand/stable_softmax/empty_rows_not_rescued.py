# mistakes: row-of-minus-infinity-gives-nan
"""Tensor methods; a row without any finite entry subtracts -inf from -inf."""


def softmax(x, dim=-1):
    lifted = x.sub(x.amax(dim=dim, keepdim=True))  # first wrong
    e = lifted.exp()
    s = e.sum(dim=dim, keepdim=True)
    return e.div(s.masked_fill(s.eq(0), 1.0))
