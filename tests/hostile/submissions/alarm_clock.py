# Sets an alarm and handles no signal, so that the alarm ends the process.
# of: prefix-sum
# family: signals to itself
# verdict: error
# says: ended by a signal
# seconds: 20
import signal, time


def prefix_sum(x, reverse=False):
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    time.sleep(60)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
