# A right answer that can be imported only once.
# of: prefix-sum
# verdict: passed
import builtins

if hasattr(builtins, "imported"):
    raise ImportError("once is enough")
builtins.imported = True


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
