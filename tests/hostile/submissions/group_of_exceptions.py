# Raises a group of three exceptions.
# of: prefix-sum
# family: exceptions
# verdict: error
# says: ExceptionGroup: three

def prefix_sum(x, reverse=False):
    raise ExceptionGroup("three", [ValueError(1), TypeError(2), PermissionError(3)])
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
