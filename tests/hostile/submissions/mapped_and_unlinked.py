# Writes to files that have no name any more, through mappings of them.
# Must not: what it wrote stay when it is gone.
# of: prefix-sum
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
