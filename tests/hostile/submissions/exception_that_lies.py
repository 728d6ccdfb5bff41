# A syntax error whose parts raise when they are looked at.
# of: prefix-sum
# verdict: error
# diagnosis: yes


class Nasty(SyntaxError):
    filename = property(lambda self: 1 / 0)
    msg = property(lambda self: 1 / 0)
Nasty.__name__ = 'N' * 1_000_000


def prefix_sum(x, reverse=False):
    raise Nasty
