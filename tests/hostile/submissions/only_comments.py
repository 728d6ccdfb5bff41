# Says what it would do.
# of: prefix-sum
# verdict: failed
# says: defines no class and no function

# def prefix_sum(x, reverse=False):
#     return x.cumsum(-1)
