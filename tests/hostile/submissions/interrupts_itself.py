# Interrupts its main thread like Ctrl-C, a moment later.
# of: prefix-sum
# family: signals to itself
# verdict: error
# says: KeyboardInterrupt
import _thread, threading, time


def prefix_sum(x, reverse=False):
    threading.Timer(0.01, _thread.interrupt_main).start()
    while True:
        time.sleep(0.01)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
