# Stops itself, like a job in a shell: it neither runs nor ends.
# of: prefix-sum
# family: signals to itself
# verdict: timeout
# says: still running at the time limit
# seconds: 0.5
import signal


def prefix_sum(x, reverse=False):
    signal.raise_signal(signal.SIGSTOP)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
