# Right; prints much on both streams and directly on a descriptor.
# of: prefix-sum
# family: output flood
# verdict: passed
import logging, os, sys


def prefix_sum(x, reverse=False):
    print("x" * 20_000)
    print("warning: " * 1_000, file=sys.stderr)
    os.write(2, b"\xff\xfe not UTF-8 \x1b[2J \x07")
    logging.warning("%s", x)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
