# Writes files until it gets an error.
# of: prefix-sum
# family: disk
# verdict: error
# says: wrote more than
import itertools

numbers = itertools.count()


def prefix_sum(x, reverse=False):
    for number in numbers:
        with open(f"{number}", "wb") as file:
            file.write(bytes(8 << 20))
