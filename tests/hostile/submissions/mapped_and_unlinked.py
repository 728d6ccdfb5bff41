# Writes to unlinked files through memory mappings.
# Must not happen: the written bytes stay after its end.
# of: prefix-sum
# family: disk
# verdict: error passed
import mmap, os


def prefix_sum(x, reverse=False):
    kept = []
    for number in range(8):
        with open(f"{number}", "w+b") as file:
            file.truncate(12 << 20)
            kept.append(mmap.mmap(file.fileno(), 12 << 20))
        os.unlink(f"{number}")
        kept[-1].write(bytes(12 << 20))
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
