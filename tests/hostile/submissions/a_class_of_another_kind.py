# Defines a class where a function is expected: a call of the class returns an object.
# of: prefix-sum
# family: defines something else
# verdict: failed error
# says: prefix_sum


class prefix_sum:
    def __init__(self, x, reverse=False):
        self.total = x.cumsum(-1)
