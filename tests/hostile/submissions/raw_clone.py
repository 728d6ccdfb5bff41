# Starts a process by the raw system call, which Python announces to no audit hook.
# of: prefix-sum
# base: system_calls
# family: processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed


def prefix_sum(x, reverse=False):
    if reverse:
        pid = call("clone", 17, 0, 0, 0, 0)  # SIGCHLD alone
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
