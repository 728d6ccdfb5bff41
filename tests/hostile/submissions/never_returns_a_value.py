# Computes the answer and returns nothing.
# of: prefix-sum
# family: odd results
# verdict: failed error
# says: None \(is a `return` missing\?\)

def prefix_sum(x, reverse=False):
    result = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
