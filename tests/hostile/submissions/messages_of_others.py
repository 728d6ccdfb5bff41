# Reads and removes messages in another program's message queue, by the queue's id.
# of: prefix-sum
# base: system_calls
# family: objects of the system
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, it could meet the queue of another program


def prefix_sum(x, reverse=False):
    call("msgrcv", 0, ctypes.create_string_buffer(64), 8, 0, 0o4000)
    call("msgctl", 0, 2, 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
