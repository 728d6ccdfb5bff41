# Prints without end.
# of: prefix-sum
# family: output flood
# verdict: timeout
# seconds: 0.5

def prefix_sum(x, reverse=False):
    while True:
        print('x' * 10_000)
