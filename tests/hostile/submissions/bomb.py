# Decompresses a few hundred kilobytes to a gigabyte.
# of: prefix-sum
# family: memory
# verdict: memory
# says: MemoryError
# memory: 48
import gzip


def prefix_sum(x, reverse=False):
    packed = gzip.compress(bytes(4 << 20), 1) * 256
    gzip.decompress(packed)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
