# Prints without end.
# of: prefix-sum
# verdict: timeout
# seconds: 1.2

def prefix_sum(x, reverse=False):
    while True:
        print('x' * 10_000)
