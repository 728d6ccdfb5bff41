# Right; turns every warning into an error.
# of: prefix-sum
# family: right: unusual settings
# verdict: passed
import warnings

warnings.simplefilter("error")


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
