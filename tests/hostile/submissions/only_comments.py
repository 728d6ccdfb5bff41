# Contains only comments.
# of: prefix-sum
# family: defines something else
# verdict: failed
# says: defines no prefix_sum, and no other class or function

# def prefix_sum(x, reverse=False):
#     return x.cumsum(-1)
