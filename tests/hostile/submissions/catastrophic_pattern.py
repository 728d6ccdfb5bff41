# Matches a regular expression that tries every way to split a word.
# of: prefix-sum
# family: time in C
# verdict: timeout
# says: still running at the time limit
# seconds: 0.5
# without: the same, and a second of hard work
import re


def prefix_sum(x, reverse=False):
    re.match("(a+)+$", "a" * 50 + "b")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
