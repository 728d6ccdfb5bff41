# Right; switches the garbage collector off and raises every limit of the interpreter.
# of: prefix-sum
# family: right: unusual settings
# verdict: passed
import gc, sys

gc.disable()
gc.freeze()
gc.set_threshold(0)
sys.setrecursionlimit(10**6)
sys.setswitchinterval(1e-6)
sys.set_int_max_str_digits(0)


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
