# Computes ten to the power of a hundred million in one step that nothing can interrupt.
# of: prefix-sum
# family: time in C
# verdict: timeout
# says: still running at the time limit
# seconds: 0.5
# without: the same, and a second of hard work

def prefix_sum(x, reverse=False):
    ten = 10
    ten ** ten**8
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
