# Starts forty processes from a thread that stays alive.
# Must not happen: the processes are missed because the first thread started none.
# of: prefix-sum
# family: processes
# verdict: error
# says: PermissionError
# seconds: 3
import os, threading, time


def prefix_sum(x, reverse=False):
    def go():
        for _ in range(40):
            if os.fork() == 0:
                time.sleep(60)
        time.sleep(60)


    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    raise PermissionError(1, "refused in the thread")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
