# Raises an exception whose `__str__` raises an error.
# of: prefix-sum
# family: exceptions
# verdict: error


class Nasty(Exception):
    def __str__(self):
        raise RuntimeError('no text')
    __repr__ = __str__


def prefix_sum(x, reverse=False):
    raise Nasty
