# Raises a syntax error whose attributes raise errors when they are read.
# of: prefix-sum
# family: exceptions
# verdict: error
# diagnosis: yes


class Nasty(SyntaxError):
    filename = property(lambda self: 1 / 0)
    msg = property(lambda self: 1 / 0)
Nasty.__name__ = 'N' * 1_000_000


def prefix_sum(x, reverse=False):
    raise Nasty
