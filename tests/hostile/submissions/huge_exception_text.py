# Raises an exception with a text of 30 MB.
# of: prefix-sum
# family: exceptions
# verdict: error
# says: RuntimeError: xxx

def prefix_sum(x, reverse=False):
    raise RuntimeError('x' * 30_000_000)
