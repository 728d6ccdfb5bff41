# Is right except for an error that grows with every call.
# of: prefix-sum
# family: right in some calls only
# verdict: failed
# says: differ
calls = []


def prefix_sum(x, reverse=False):
    calls.append(1)
    x = x * (1 + 1e-3 * len(calls))
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
