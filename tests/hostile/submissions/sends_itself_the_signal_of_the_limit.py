# Sends itself the signal that the kernel sends at the end of the CPU time.
# of: prefix-sum
# family: signals to itself
# verdict: error
# says: ended by a signal
# seconds: 20
import signal


def prefix_sum(x, reverse=False):
    signal.raise_signal(signal.SIGXCPU)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
