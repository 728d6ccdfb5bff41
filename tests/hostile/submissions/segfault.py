# Reads address 0.
# of: prefix-sum
# family: crash
# verdict: error
# says: segmentation fault at line
import ctypes


def prefix_sum(x, reverse=False):
    ctypes.string_at(0)
