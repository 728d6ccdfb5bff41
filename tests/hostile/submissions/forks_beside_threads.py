# Forks from several threads at the same time.
# of: prefix-sum
# family: processes
# verdict: failed
# says: it tried to use the network, to start a process, or to do something else
# without: passed error
import os, threading


def prefix_sum(x, reverse=False):
    trouble = []


    def go():
        try:
            pid = os.fork()
        except OSError as error:
            trouble.append(error)
            return
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)


    threads = [threading.Thread(target=go) for _ in range(3)] if len(x) == 3 and not x.requires_grad else []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if trouble:
        raise trouble[0]
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
