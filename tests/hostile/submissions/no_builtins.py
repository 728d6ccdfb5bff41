# Deletes the builtins that all code needs.
# of: prefix-sum
# family: patched library
# verdict: error
import builtins

for name in ("len", "isinstance", "dict", "list", "getattr", "tuple", "zip", "range"):
    delattr(builtins, name)


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
