# Reads the engine by a link in its own folder.
# of: prefix-sum
# family: reads outside
# verdict: error
# says: tried to read or change mine.txt|FileNotFoundError
# without: passed error
import os, sys


def prefix_sum(x, reverse=False):
    if not os.path.islink("mine.txt"):
        os.symlink(sys.modules["attn_drill"].__file__, "mine.txt")
    with open("mine.txt") as file:
        file.read()
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
