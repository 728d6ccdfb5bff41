# A function that yields its answer.
# of: prefix-sum
# family: defines something else
# verdict: failed error
# says: a generator


def prefix_sum(x, reverse=False):
    yield x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
