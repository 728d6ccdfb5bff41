# Right; imports all names of three modules, some of which hide builtins.
# of: prefix-sum
# family: right: unusual text
# verdict: passed
from math import *
from os.path import *
from torch import *
from torch.nn.functional import *


def prefix_sum(x, reverse=False):
    return flip(cumsum(flip(x, (-1,)), -1), (-1,)) if reverse else cumsum(x, -1)
