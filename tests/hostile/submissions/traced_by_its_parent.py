# Lets its parent trace it, so that signals stop it instead of ending it.
# Must not happen: the parent takes a stop for an end, or waits for an end forever.
# of: prefix-sum
# base: system_calls
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: timeout error
# seconds: 0.5
import signal


def prefix_sum(x, reverse=False):
    call("ptrace", 0, 0, 0, 0)  # PTRACE_TRACEME
    signal.raise_signal(signal.SIGUSR1)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
