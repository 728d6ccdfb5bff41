# Ends the interpreter from a thread, while forward is at work.
# of: prefix-sum
# family: exit
# verdict: error
# says: the process ended itself
import os, threading, time


def prefix_sum(x, reverse=False):
    threading.Thread(target=os._exit, args=(0,)).start()
    time.sleep(60)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
