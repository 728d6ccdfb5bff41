# Leaves its group, detaches from its parent, ignores all signals, then sleeps.
# of: prefix-sum
# family: time
# verdict: timeout
# says: still running at the time limit
# seconds: 0.5
import ctypes, signal, time


def prefix_sum(x, reverse=False):
    libc = ctypes.CDLL(None)
    libc.prctl(1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG: none
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True:
        time.sleep(60)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
