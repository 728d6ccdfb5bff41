# Returns a list whose length raises an error.
# of: prefix-sum
# family: odd results
# verdict: failed error
class Uncountable(list):
    def __len__(self):
        raise KeyboardInterrupt

    __getitem__ = __iter__ = __repr__ = __len__


def prefix_sum(x, reverse=False):
    return Uncountable([x, x])
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
