# Right; installs handlers for signals that never arrive, and starts a timer.
# of: prefix-sum
# family: right: unusual settings
# verdict: passed
import faulthandler, signal

signal.signal(signal.SIGALRM, lambda *args: None)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
faulthandler.cancel_dump_traceback_later()
faulthandler.disable()


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
