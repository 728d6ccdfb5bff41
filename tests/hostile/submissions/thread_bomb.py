# Starts threads without end.
# of: prefix-sum
# family: threads
# verdict: error
# says: it started \d+ threads; at most 256 are allowed
# seconds: 20
# memory: 2048
import threading, time


def prefix_sum(x, reverse=False):
    threading.stack_size(64 << 10)
    for _ in range(600):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    time.sleep(60)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
