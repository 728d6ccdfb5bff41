# Changes the installed torch package, which the next worker would use.
# of: prefix-sum
# family: writes outside
# verdict: error
# says: tried to read or change .*torch
# without: not run, it writes to an installed package
import torch


def prefix_sum(x, reverse=False):
    with open(torch.__file__, "r+") as file:
        text = file.read()
        file.seek(0)
        file.write(text)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
