# Raises an exception whose class, text and causes form a circle.
# of: prefix-sum
# family: exceptions
# verdict: error
# says: Round: .*first
class Round(OSError):
    errno = property(lambda self: 1)
    filename = property(lambda self: self)


def prefix_sum(x, reverse=False):
    first, second = Round("first"), Round("second")
    first.__cause__, second.__context__ = second, first
    raise first
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
