# Makes the end of the interpreter wait forever: by exit handlers, threads and objects.
# Must not happen: something waits for this end.
# of: prefix-sum
# family: exit
# verdict: passed
import atexit, threading, time


class Clinging:
    def __del__(self):
        time.sleep(600)


kept = Clinging()
atexit.register(time.sleep, 600)
threading.Thread(target=time.sleep, args=(600,)).start()


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
